use chrono::NaiveDate;

use crate::error::{Error, FieldError, Result};
use crate::types::csv::Format;
use crate::types::ids::PixelParam;
use crate::types::page_address::PageAddress;
use crate::types::seen_at::parse_day;
use crate::types::text::present;

/// Maximum and default number of contacts of a page.
const PAGE: i64 = 1_000;

/// The parameters of a request: exactly one of `on`, `after` and `changed_after`, a `limit`, with
/// `on` the `cursor` of the previous page, and the format.
pub struct ReadRequest {
    pub pixel_id: PixelParam,
    pub on: Option<String>,
    pub after: Option<String>,
    pub changed_after: Option<String>,
    pub limit: Option<String>,
    pub cursor: Option<String>,
    pub format: Option<String>,
    /// The address from which those of further pages are derived; without it, none is returned.
    pub address: Option<PageAddress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// First seen on this UTC day: all of them, or a page.
    On { day: NaiveDate, page: Option<DayPage> },
    /// With a greater id, one page.
    After { id: i64, limit: i64 },
    /// Stored or changed after a change, one page.
    Changed { after: i64, limit: i64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayPage {
    pub after: i64,
    pub limit: i64,
}

impl ReadRequest {
    pub fn selection(&self) -> Result<Selection> {
        let limit =
            named(&self.limit).map(|text| limit(text).ok_or_else(wrong_limit)).transpose()?;
        let limit_of_page = limit.unwrap_or(PAGE);
        if let Some(after) = named(&self.changed_after) {
            let is_alone = named(&self.on).is_none() && named(&self.after).is_none();
            let after = number(after).filter(|_| is_alone).ok_or_else(|| wrong_change(is_alone))?;
            return Ok(Selection::Changed { after, limit: limit_of_page });
        }
        match (named(&self.on), named(&self.after)) {
            (None, None) => {
                let modes = FieldError::new(
                    &["query", "on"],
                    "or after or changed_after is required",
                    "missing",
                );
                Err(Error::OnOrAfterMissing.naming(vec![modes]))
            }
            (Some(_), Some(_)) => Err(Error::OnAndAfter),
            (Some(on), None) => Ok(Selection::On { day: parse_day(on)?, page: self.page(limit)? }),
            (None, Some(after)) => {
                let id = number(after).ok_or(Error::AfterMalformed)?;
                Ok(Selection::After { id, limit: limit_of_page })
            }
        }
    }

    pub fn format(&self) -> Result<Format> {
        let format = Format::read(named(&self.format));
        format.map_err(|wrong| Error::InvalidRequest.naming(vec![wrong]))
    }

    fn page(&self, limit: Option<i64>) -> Result<Option<DayPage>> {
        let after = named(&self.cursor).map(|text| number(text).ok_or_else(wrong_cursor));
        let after = after.transpose()?;
        let is_whole = after.is_none() && limit.is_none();
        let page = || DayPage { after: after.unwrap_or(0), limit: limit.unwrap_or(PAGE) };
        Ok((!is_whole).then(page))
    }
}

/// A page of the contacts whose consent has ended: those after `after`, at most `limit`.
pub struct WithdrawnRequest {
    pub pixel_id: PixelParam,
    pub after: Option<String>,
    pub limit: Option<String>,
}

impl WithdrawnRequest {
    pub fn page(&self) -> Result<(i64, i64)> {
        let after = named(&self.after).map(|text| number(text).ok_or(Error::AfterMalformed));
        let limit = named(&self.limit).map(|text| limit(text).ok_or_else(wrong_limit));
        Ok((after.transpose()?.unwrap_or(0), limit.transpose()?.unwrap_or(PAGE)))
    }
}

fn named(text: &Option<String>) -> Option<&str> {
    present(text.as_deref())
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn limit(text: &str) -> Option<i64> {
    number(text).filter(|limit| (1..=PAGE).contains(limit))
}

fn wrong(parameter: &str, msg: &str) -> Error {
    let wrong = FieldError::new(&["query", parameter], msg, "value_error");
    Error::InvalidRequest.naming(vec![wrong])
}

fn wrong_limit() -> Error {
    wrong("limit", "must be from 1 to 1000")
}

fn wrong_change(is_alone: bool) -> Error {
    let msg = if is_alone { "must be zero or greater" } else { "goes without on and after" };
    wrong("changed_after", msg)
}

fn wrong_cursor() -> Error {
    wrong("cursor", "must be the next_cursor of a page of the same day")
}
