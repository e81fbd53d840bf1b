//! The fixed words of consent.

use crate::text_enum::text_enum;

text_enum! {
    /// What a visitor can permit.
    pub enum Purpose {
        Analytics = "analytics",
        Resolution = "resolution",
        Newsletter = "newsletter",
        EmailSharing = "email_sharing",
        PhoneSharing = "phone_sharing",
        PartnerEmail = "partner_email",
        PartnerCalls = "partner_calls",
        PartnerSms = "partner_sms",
    }
}

text_enum! {
    /// How a visitor may be contacted.
    pub enum Channel {
        Email = "email",
        Phone = "phone",
        Sms = "sms",
        Agentic = "agentic",
    }
}

text_enum! {
    /// What a visitor answered.
    pub enum ConsentState {
        Accepted = "accepted",
        Declined = "declined",
        Withdrawn = "withdrawn",
    }
}

text_enum! {
    /// Who asks.
    pub enum ControllerType {
        Company = "company",
        Person = "person",
        Organization = "organization",
    }
}

/// The known names of a list, sorted by name and each once; unknown names are dropped.
pub fn known_sorted<T: Copy>(
    names: &[String],
    parse: impl Fn(&str) -> Option<T>,
    text: impl Fn(T) -> &'static str,
) -> Vec<T> {
    let mut known = names.iter().filter_map(|name| parse(name)).collect::<Vec<_>>();
    known.sort_by_key(|&value| text(value));
    known.dedup_by_key(|value| text(*value));
    known
}
