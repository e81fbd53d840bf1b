use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::Receipt;
use crate::policies::policy::Policy;

pub struct Answered<'a> {
    pub receipt: &'a Receipt,
    pub shown: Option<&'a Shown>,
    /// `None` if it is no longer stored.
    pub policy: Option<&'a Policy>,
    pub base_url: &'a str,
}
