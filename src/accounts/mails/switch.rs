use crate::infra::templates::{Message, tr};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What a mail is about that can be turned off.
    pub enum MailSwitch {
        TrialEnding = "trial_ending",
        Allowance = "allowance",
        PaymentFailed = "payment_failed",
        KeyExpiring = "key_expiring",
        TagVanished = "tag_vanished",
        PixelEnding = "pixel_ending",
        ErasureRequests = "erasure_requests",
        Silence = "silence",
        /// Off unless it is turned on.
        WeeklyDigest = "weekly_digest",
    }
}

impl MailSwitch {
    /// The occasion of such an email, worded to follow "an email".
    pub fn occasion(self) -> Message {
        match self {
            Self::TrialEnding => {
                tr("7 days and 1 day before the trial ends, and when it has ended")
            }
            Self::Allowance => tr("when 80% and 100% of the monthly contacts are used"),
            Self::PaymentFailed => tr("when your subscription could not be charged, or has ended"),
            Self::KeyExpiring => tr("7 days before a key expires"),
            Self::TagVanished => tr("when the snippet is missing from a site"),
            Self::PixelEnding => tr("7 days before a site that was never used is removed"),
            Self::ErasureRequests => {
                tr("when visitors ask to be erased, and before the answer is due")
            }
            Self::Silence => {
                tr("when a site loads something without consent, and when it no longer does")
            }
            Self::WeeklyDigest => {
                tr("every Monday about the week before: choices and the state of each site")
            }
        }
    }
}
