use crate::policies::policy::Policy;
use crate::receipts::notice_snapshot::Shown;
use crate::receipts::receipt::Receipt;

pub struct Answered<'a> {
    pub receipt: &'a Receipt,
    pub shown: Option<&'a Shown>,
    /// `None` if it is no longer stored.
    pub policy: Option<&'a Policy>,
    pub base_url: &'a str,
}
