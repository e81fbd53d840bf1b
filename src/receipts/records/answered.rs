//! What a record is made of.

use crate::policies::policy::Policy;
use crate::receipts::receipt::Receipt;
use crate::receipts::told::Shown;

/// A choice, and what it answers.
pub struct Answered<'a> {
    pub receipt: &'a Receipt,
    pub shown: Option<&'a Shown>,
    /// `None` when it is not kept any more.
    pub policy: Option<&'a Policy>,
    /// The address of the service.
    pub base_url: &'a str,
}
