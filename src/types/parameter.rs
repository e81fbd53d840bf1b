use super::text::present;
use crate::error::{Error, FieldError, Result};

/// The refusal of a parameter (422).
pub fn wrong(name: &str, msg: impl Into<String>) -> Error {
    wrong_kind(name, msg, "value_error")
}

pub fn wrong_kind(name: &str, msg: impl Into<String>, kind: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], msg, kind)])
}

/// Reads a parameter; a blank one counts as missing. `wanted` says what `parse` accepts.
pub fn read<T>(
    name: &str,
    text: &Option<String>,
    wanted: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>> {
    let text = present(text.as_deref());
    text.map(|text| parse(text).ok_or_else(|| wrong(name, wanted))).transpose()
}
