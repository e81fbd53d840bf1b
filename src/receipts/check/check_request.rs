use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Error, FieldError, Result};
use crate::types::consent::Purpose;
use crate::types::ids::{PixelRef, VisitorId};
use crate::types::parameter::wrong_kind;
use crate::types::text::present;

/// A visitor of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfVisitor {
    /// The pixel's id or one of its aliases.
    #[schemars(with = "String")]
    pub pixel_id: Option<String>,
    /// The visitor's id, as the consent tag made it.
    #[schemars(with = "String")]
    pub visitor_id: Option<String>,
}

/// Whom to check, and for what.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CheckRequest {
    #[serde(flatten)]
    pub visitor: OfVisitor,
    /// What the visitor must have granted.
    #[schemars(with = "Option<Purpose>")]
    pub required_purpose: Option<String>,
}

/// A parsed request; ids that cannot exist are `None`.
pub(in crate::receipts) struct Subject {
    pub pixel: Option<PixelRef>,
    pub visitor_id: Option<VisitorId>,
    pub required: Option<Purpose>,
}

impl CheckRequest {
    /// Both ids are required. Unknown ids are not an error: the check answers them.
    pub(in crate::receipts) fn parse(&self) -> Result<Subject> {
        let pixel_id = present(self.visitor.pixel_id.as_deref());
        let visitor_id = present(self.visitor.visitor_id.as_deref());
        let missing = [("pixel_id", pixel_id), ("visitor_id", visitor_id)]
            .into_iter()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| FieldError::new(&["query", name], "field required", "missing"))
            .collect::<Vec<_>>();
        if !missing.is_empty() {
            return Err(Error::Validation(missing));
        }
        let required = self.required_purpose.as_deref();
        let required = required.map(|name| Purpose::parse(name).ok_or_else(unknown_purpose));
        Ok(Subject {
            required: required.transpose()?,
            pixel: pixel_id.and_then(PixelRef::parse),
            visitor_id: visitor_id.and_then(VisitorId::parse),
        })
    }
}

/// The refusal of a request without a visitor.
pub(in crate::receipts) fn no_visitor() -> Error {
    wrong_kind("visitor_id", "field required", "missing")
}

fn unknown_purpose() -> Error {
    let word = FieldError::unknown_word(&["query", "required_purpose"], Purpose::WORDS);
    Error::InvalidRequiredPurpose.naming(vec![word])
}
