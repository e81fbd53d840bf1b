use super::parameter::{self, wrong};
use crate::error::{Error, Result};

/// A page: the position where it starts, and the number of rows that it has at most.
#[derive(Clone, Copy, Debug)]
pub struct Page<T> {
    pub start: Option<T>,
    limit: u16,
}

impl<T> Page<T> {
    pub fn of(start: Option<T>, limit: u16) -> Self {
        Self { start, limit }
    }

    /// Reads the parameters `name` (`before` or `after`) and `limit`, which is `most` if missing.
    pub fn read(
        name: &str,
        start: &Option<String>,
        limit: &Option<String>,
        most: u16,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Self> {
        let start = parameter::read(name, start, &wanted_start(name), parse)?;
        let parse = |text: &str| parse_limit(text, most);
        let limit = parameter::read("limit", limit, &wanted_limit(most), parse)?;
        Ok(Self { start, limit: limit.unwrap_or(most) })
    }

    /// The number of rows to select: one more than the page has, which shows whether others follow.
    pub fn rows(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Cuts the selected rows to the page. Returns the last one if others follow.
    pub fn cut<'a, R>(&self, rows: &'a mut Vec<R>) -> Option<&'a R> {
        let limit = usize::from(self.limit);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        rows.last().filter(|_| has_more)
    }
}

/// A number of rows in digits, from 1 to `most`.
pub fn parse_limit(text: &str, most: u16) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|limit| is_number && (1..=most).contains(limit))
}

pub fn wrong_limit(most: u16) -> Error {
    wrong("limit", wanted_limit(most))
}

fn wanted_limit(most: u16) -> String {
    format!("must be from 1 to {most}")
}

/// The error message for a `before` or `after` at which no page starts.
pub fn wanted_start(name: &str) -> String {
    format!("must be the next_{name} of a page")
}
