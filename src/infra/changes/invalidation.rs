//! The pixels and accounts that a transaction changes, and their encoding as notifications.

use super::topic::Topic;
use crate::types::ids::{AccountId, PixelId, PixelRef};

/// Maximum payload in bytes: PostgreSQL's limit is just below 8,000.
const MAX_PAYLOAD: usize = 7_900;
const PIXEL: &str = "pixel:";
const ACCOUNT: &str = "account:";

/// The pixels and accounts whose cache entries a transaction invalidates. A canonical id covers all names
/// of a pixel, but a new alias must be named, because nodes may have cached its absence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalidation {
    /// In the form of a payload: the kind of the topic, a colon, and its name.
    topics: Vec<String>,
}

impl Invalidation {
    pub fn none() -> Self {
        Self::default()
    }

    pub fn of_pixel(pixel_id: &PixelId) -> Self {
        let mut invalidation = Self::none();
        invalidation.add_pixel(pixel_id);
        invalidation
    }

    pub fn of_account(account_id: &AccountId) -> Self {
        let mut invalidation = Self::none();
        invalidation.add_account(account_id);
        invalidation
    }

    pub fn add_pixel(&mut self, pixel_id: &PixelId) {
        self.topics.push(format!("{PIXEL}{pixel_id}"));
    }

    pub fn add_alias(&mut self, alias: &PixelRef) {
        self.topics.push(format!("{PIXEL}{alias}"));
    }

    /// Adds an account whose status, plan or usage has changed, which concerns all its pixels.
    pub fn add_account(&mut self, account_id: &AccountId) {
        self.topics.push(format!("{ACCOUNT}{account_id}"));
    }

    pub fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = Topic<'_>> {
        self.topics.iter().filter_map(|topic| parse_topic(topic))
    }

    /// Joins the topics with spaces, which names never contain, in as many payloads as needed.
    pub(super) fn payloads(&self) -> Vec<String> {
        let mut payloads = Vec::<String>::new();
        for topic in &self.topics {
            match payloads.last_mut() {
                Some(last) if last.len() + topic.len() < MAX_PAYLOAD => {
                    last.push(' ');
                    last.push_str(topic);
                }
                _ => payloads.push(topic.clone()),
            }
        }
        payloads
    }

    /// Parses a payload; `None` if this version of the program cannot parse it, so that anything may have changed.
    pub(super) fn parse(payload: &str) -> Option<Self> {
        let topics = payload.split(' ');
        let topics = topics.map(|topic| parse_topic(topic).map(|_| topic.to_owned()));
        topics.collect::<Option<_>>().map(|topics| Self { topics })
    }
}

fn parse_topic(text: &str) -> Option<Topic<'_>> {
    let pixel = text.strip_prefix(PIXEL).map(Topic::Pixel);
    pixel.or_else(|| text.strip_prefix(ACCOUNT).map(Topic::Account))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_parsed_to_what_was_written() {
        let mut invalidation = Invalidation::of_pixel(&PixelId::from("px-1".to_owned()));
        invalidation.add_alias(&PixelRef::from("shop_1".to_owned()));
        invalidation.add_account(&AccountId::from("acc_1".to_owned()));
        let payloads = invalidation.payloads();
        assert_eq!(payloads, ["pixel:px-1 pixel:shop_1 account:acc_1"]);
        assert_eq!(Invalidation::parse(&payloads[0]), Some(invalidation));
    }

    #[test]
    fn what_cannot_be_read_may_be_about_anything() {
        for payload in ["", " ", "pixel:px-1  pixel:px-2", "pixel:px-1 policy:7", "everything"] {
            assert_eq!(Invalidation::parse(payload), None, "{payload:?}");
        }
    }

    #[test]
    fn no_payload_is_longer_than_the_database_takes() {
        let mut invalidation = Invalidation::none();
        assert!(invalidation.payloads().is_empty());
        for number in 0..1_000 {
            invalidation.add_alias(&PixelRef::from(format!("{number:0>80}")));
        }
        let payloads = invalidation.payloads();
        assert!(payloads.iter().all(|payload| payload.len() < 8_000));
        let heard =
            payloads.iter().flat_map(|payload| Invalidation::parse(payload).unwrap().topics);
        assert_eq!(heard.collect::<Vec<_>>(), invalidation.topics);
    }
}
