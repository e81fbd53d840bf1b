//! Failures of single items of a background job, such as an account or a site.

use std::fmt::Display;

use crate::error::{Error, Result};

/// Logs the failure of one item, which must not delay the others; returns `None` then. An unavailable database ends
/// the run instead, because every other item would fail too.
pub fn isolate<T>(
    result: Result<T>,
    failed: &'static str,
    item: &dyn Display,
) -> Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(Error::DatabaseUnavailable) => Err(Error::DatabaseUnavailable),
        Err(error) => {
            tracing::error!(?error, %item, "{failed}");
            Ok(None)
        }
    }
}
