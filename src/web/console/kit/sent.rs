//! The state of a form with one text field, before and after it is sent.

use super::words::sentence;
use crate::error::Error;
use crate::http::query::Query;
use crate::infra::templates::Message;

#[derive(Clone, Copy)]
pub enum Sent<'a> {
    NotYet,
    Saved,
    /// The typed text and the error.
    Refused(&'a str, &'a Error),
}

impl<'a> Sent<'a> {
    /// The state when a screen is opened. A saved form redirects to `?done=saved`.
    pub fn of(query: &Query) -> Self {
        if query.get("done") == Some("saved") { Self::Saved } else { Self::NotYet }
    }

    pub fn status(self) -> u16 {
        self.refused().map_or(200, |(_, error)| error.status())
    }

    /// The typed text, or else the stored one.
    pub fn text(self, stored: &'a str) -> &'a str {
        self.refused().map_or(stored, |(typed, _)| typed)
    }

    pub fn error(self) -> Option<Message> {
        self.refused().map(|(_, error)| sentence(error))
    }

    pub fn notice(self, saved: Message) -> Option<Message> {
        matches!(self, Self::Saved).then_some(saved)
    }

    fn refused(self) -> Option<(&'a str, &'a Error)> {
        match self {
            Self::Refused(typed, error) => Some((typed, error)),
            _ => None,
        }
    }
}
