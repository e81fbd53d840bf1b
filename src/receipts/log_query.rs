use chrono::{DateTime, Duration, NaiveDate, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::days::Times;
use crate::error::{Error, FieldError, Result};
use crate::policies::policy::is_hash;
use crate::types::consent::ConsentState;
use crate::types::ids::VisitorId;
use crate::types::paging::{parse_limit, wrong_limit};
use crate::types::parameter::{read, wrong};

pub const MAX_ROWS: u16 = 200;

/// Which choices somebody asks for, as they were sent.
#[derive(Deserialize, JsonSchema)]
pub struct LogFilter {
    /// Only choices of this kind.
    #[schemars(with = "Option<ConsentState>")]
    pub state: Option<String>,
    /// Only choices of this visitor.
    pub visitor_id: Option<String>,
    /// Only the choice with this receipt.
    pub receipt_id: Option<String>,
    /// Only choices on this version of the policy.
    pub policy_hash: Option<String>,
    /// First UTC day.
    #[schemars(with = "Option<NaiveDate>")]
    pub from: Option<String>,
    /// Last UTC day.
    #[schemars(with = "Option<NaiveDate>")]
    pub to: Option<String>,
    /// The `next_before` of the page before, with the same filters.
    pub before: Option<String>,
}

/// The filter of the choices to read.
#[derive(Clone, Debug)]
pub struct LogQuery {
    pub state: Option<ConsentState>,
    pub visitor_id: Option<VisitorId>,
    pub receipt_id: Option<Uuid>,
    pub policy_hash: Option<String>,
    pub times: Times,
    pub limit: u16,
    pub before: Option<Position>,
}

impl LogQuery {
    /// Parses a filter. The state is taken literally; other fields count as missing if blank.
    pub fn parse(filter: &LogFilter, limit: &str) -> Result<Self> {
        let state = filter.state.as_deref();
        let state = state.map(|text| ConsentState::parse(text).ok_or_else(unknown_state));
        let query = Self {
            state: state.transpose()?,
            visitor_id: read("visitor_id", &filter.visitor_id, VISITOR_ID, VisitorId::parse)?,
            receipt_id: read("receipt_id", &filter.receipt_id, RECEIPT_ID, uuid)?,
            policy_hash: read("policy_hash", &filter.policy_hash, POLICY_HASH, policy_hash)?,
            times: Times::parse(filter.from.as_deref(), filter.to.as_deref())?,
            limit: parse_limit(limit, MAX_ROWS).ok_or_else(|| wrong_limit(MAX_ROWS))?,
            before: read("before", &filter.before, BEFORE, Position::parse)?,
        };
        match query.before.is_none_or(|before| before.time.is_some() == query.is_by_time()) {
            true => Ok(query),
            false => Err(wrong("before", BEFORE)),
        }
    }

    /// Whether the choices are ordered by the times in their receipts. Choices without a filter, and those of one
    /// visitor, are ordered by position instead; the two orders may differ slightly.
    pub fn is_by_time(&self) -> bool {
        let has_filter = self.state.is_some()
            || self.receipt_id.is_some()
            || self.policy_hash.is_some()
            || self.times != Times::ALL;
        self.visitor_id.is_none() && has_filter
    }

    /// The times at which matching choices can have been recorded: a receipt's id contains its own, to the
    /// millisecond.
    pub fn narrowed(&self) -> Times {
        let Some(receipt_id) = self.receipt_id else { return self.times };
        // Ids of receipts are UUIDs of version 7. For any other id the time is before all choices, so none matches.
        let time = receipt_id.get_timestamp().filter(|_| receipt_id.get_version_num() == 7);
        let (seconds, nanos) = time.map_or((0, 0), |time| time.to_unix());
        let time =
            i64::try_from(seconds).ok().and_then(|time| DateTime::from_timestamp(time, nanos));
        let time = time.unwrap_or(Times::ALL.from);
        self.times.and(Times { from: time, until: time + Duration::milliseconds(1) })
    }
}

const VISITOR_ID: &str = "must be 1 to 128 letters, digits, - and _";
const RECEIPT_ID: &str = "must be a UUID";
const POLICY_HASH: &str = "must be 64 lowercase hex digits";
const BEFORE: &str = "must be the next_before of a page that was asked for in the same words";

fn unknown_state() -> Error {
    let word = FieldError::unknown_word(&["query", "state"], ConsentState::WORDS);
    Error::InvalidState.naming(vec![word])
}

fn uuid(text: &str) -> Option<Uuid> {
    text.parse().ok()
}

fn policy_hash(text: &str) -> Option<String> {
    is_hash(text).then(|| text.to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The time of the receipt, if the pages are ordered by time.
    pub time: Option<DateTime<Utc>>,
    pub seq: i64,
}

impl Position {
    /// An opaque text, which clients send back as `before`.
    pub fn to_text(self) -> String {
        match self.time {
            Some(time) => format!("{:016x}{:016x}", time.timestamp_micros(), self.seq),
            None => format!("{:016x}", self.seq),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| {
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            i64::from_str_radix(digits, 16).ok().filter(|_| is_hex)
        };
        match (text.len(), text.split_at_checked(16)?) {
            (16, (seq, _)) => Some(Self { time: None, seq: number(seq)? }),
            (32, (time, seq)) => {
                let time = DateTime::from_timestamp_micros(number(time)?)?;
                let time =
                    Some(time).filter(|time| (Times::ALL.from..Times::ALL.until).contains(time));
                Some(Self { time: Some(time?), seq: number(seq)? })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<LogQuery> {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.into()));
        let filter = serde_json::Value::Object(pairs.collect());
        LogQuery::parse(&serde_json::from_value(filter).unwrap(), "200")
    }

    #[test]
    fn a_position_is_read_back_and_fits_only_its_own_order() {
        for time in [None, DateTime::from_timestamp_micros(1_773_144_000_123_000)] {
            let position = Position { time, seq: 4_711 };
            let filter = if time.is_some() { "state=accepted&" } else { "" };
            let text = position.to_text();
            assert_eq!(query(&format!("{filter}before={text}")).unwrap().before, Some(position));
            let other = if time.is_some() { "" } else { "state=accepted&" };
            assert!(query(&format!("{other}before={text}")).is_err());
        }
        for bad in ["0", "zz", "-00000000000000f", "+00000000000000f", "ü00000000000000"] {
            assert!(query(&format!("before={bad}")).is_err(), "{bad}");
        }
        assert!(query(&format!("state=accepted&before={}", "f".repeat(32))).is_err());
        assert!(query(&format!("state=accepted&before={}", "7".repeat(32))).is_err());
    }

    #[test]
    fn days_are_whole_and_a_receipts_id_tells_its_time() {
        let times = query("from=2026-03-01&to=2026-03-02").unwrap().narrowed();
        assert_eq!((times.until - times.from).num_hours(), 48);
        assert_eq!(query("").unwrap().narrowed(), Times::ALL);
        let now = DateTime::from_timestamp_micros(1_773_144_000_123_456).unwrap();
        let id = crate::types::ids::uuid_v7(now);
        let times = query(&format!("receipt_id={id}")).unwrap().narrowed();
        assert_eq!(times.from.timestamp_millis(), 1_773_144_000_123);
        assert_eq!((times.until - times.from).num_milliseconds(), 1);
        let foreign = "receipt_id=0b8a6e2c-5d1f-4c57-9c8e-3f2a1b0c9d8e";
        assert!(query(foreign).unwrap().narrowed().until.timestamp() <= 1, "no id of ours");
        assert!(query("to=9999-12-31").is_ok() && query("from=9999-12-31").is_ok());
    }
}
