use super::text_enum::text_enum;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    Known(Purpose),
    /// A purpose of a newer version of the service. It is kept, so that the receipt stays as
    /// signed; it permits nothing in this version.
    Newer(String),
}

impl Granted {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(purpose) => purpose.as_str(),
            Self::Newer(name) => name,
        }
    }
}

impl From<String> for Granted {
    fn from(name: String) -> Self {
        Purpose::parse(&name).map_or(Self::Newer(name), Self::Known)
    }
}

impl serde::Serialize for Granted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
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

impl Purpose {
    pub const SHARING: [Self; 5] = [
        Self::EmailSharing,
        Self::PhoneSharing,
        Self::PartnerEmail,
        Self::PartnerCalls,
        Self::PartnerSms,
    ];

    /// Sorts purposes for display to visitors, the most sensitive first. Hashed and signed texts
    /// sort them by name.
    pub fn most_sensitive_first(purposes: &[Self]) -> impl Iterator<Item = Self> {
        const ORDER: [Purpose; 8] = [
            Purpose::Resolution,
            Purpose::PhoneSharing,
            Purpose::EmailSharing,
            Purpose::PartnerCalls,
            Purpose::PartnerSms,
            Purpose::PartnerEmail,
            Purpose::Newsletter,
            Purpose::Analytics,
        ];
        ORDER.into_iter().filter(|purpose| purposes.contains(purpose))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_is_in_the_order_that_visitors_read() {
        assert_eq!(Purpose::most_sensitive_first(Purpose::ALL).count(), Purpose::ALL.len());
        let read = Purpose::most_sensitive_first(&[Purpose::Analytics, Purpose::Resolution]);
        assert!(read.eq([Purpose::Resolution, Purpose::Analytics]));
    }
}
