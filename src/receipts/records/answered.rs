//! The data of a record.

use crate::policies::policy::Policy;
use crate::receipts::notice_snapshot::Shown;
use crate::receipts::receipt::Receipt;

/// A choice with the policy that it answers.
pub struct Answered<'a> {
    pub receipt: &'a Receipt,
    pub shown: Option<&'a Shown>,
    /// `None` if it is no longer stored.
    pub policy: Option<&'a Policy>,
    /// The base URL of the service.
    pub base_url: &'a str,
}
