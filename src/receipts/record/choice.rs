use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::consent_receipt::user_action::{Act, Seen, UserAction};
use crate::error::{Error, Result, wrong_at};
use crate::policies::policy::Policy;
use crate::types::consent::{ConsentState, Purpose};
use crate::types::ids::{PixelRef, VisitorId};

/// A visitor's choice. One that does not count is ignored, not refused.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct RecordRequest {
    /// Canonical id, alias or test id.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
    /// The page on which the choice was made: of the pixel's host or a subdomain of it.
    #[schemars(with = "String")]
    #[schema(value_type = String, example = "https://shop.example/cart")]
    pub url: Option<String>,
    #[schemars(with = "ConsentState")]
    #[schema(value_type = ConsentState)]
    pub consent: Option<String>,
    /// Must be true for `accepted`: the visitor did something to say yes.
    pub affirmative: Option<bool>,
    /// Must be the current policy's hash for `accepted`.
    pub policy_version_hash: Option<String>,
    /// For `accepted` a non-empty subset of the configured purposes.
    #[schemars(with = "Option<Vec<Purpose>>")]
    #[schema(value_type = Option<Vec<Purpose>>)]
    pub purposes: Option<Vec<String>>,
    /// Global Privacy Control: when true nothing is stored.
    pub gpc: Option<bool>,
    /// Made per choice, so that a repeated request never makes a second receipt. The same one
    /// with another visitor or another answer is another choice.
    pub choice_id: Option<Uuid>,
    /// What the visitor saw and did, as the consent tag says it. It is kept beside the receipt; without a
    /// language that the service knows it is left out.
    #[serde(default, deserialize_with = "leniently")]
    pub shown: Option<ShownClaim>,
}

/// What a visitor saw, by the names that the consent tag knows.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct ShownClaim {
    /// The language of the popup.
    #[schema(example = "en")]
    pub language: String,
    /// The build of the tag.
    pub script: Option<String>,
    /// How the popup was operated. An acceptance with another value is refused.
    #[schemars(with = "Option<Act>")]
    #[schema(value_type = Option<Act>)]
    act: Option<Value>,
    /// For how long the popup was open. An acceptance with another value is refused.
    #[schemars(with = "Option<Seen>")]
    #[schema(value_type = Option<Seen>)]
    seen: Option<Value>,
    /// Whether a program controlled the browser. An acceptance with another value is refused.
    #[schemars(with = "Option<bool>")]
    #[schema(value_type = Option<bool>)]
    automated: Option<Value>,
}

impl ShownClaim {
    /// The reported user action. An unknown value is an error for an acceptance; for a refusal it is omitted, because
    /// the refusal must not be lost.
    pub(super) fn action(&self, state: ConsentState) -> Result<UserAction> {
        let is_strict = state == ConsentState::Accepted;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(UserAction {
            act: known(&self.act, is_strict, |act| Act::parse(&text(act)?), wrong_act)?,
            seen: known(&self.seen, is_strict, |seen| Seen::parse(&text(seen)?), wrong_seen)?,
            automated: known(&self.automated, is_strict, Value::as_bool, wrong_automated)?,
        })
    }
}

fn known<T>(
    value: &Option<Value>,
    is_strict: bool,
    parse: impl Fn(&Value) -> Option<T>,
    wrong: fn() -> Error,
) -> Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    match parse(value) {
        None if is_strict => Err(wrong()),
        parsed => Ok(parsed),
    }
}

pub fn wrong_act() -> Error {
    wrong_at(&["shown", "act"], "must be pointer, keyboard, assistive or page")
}

pub fn wrong_seen() -> Error {
    wrong_at(&["shown", "seen"], "must be under_1s, under_5s or longer")
}

pub fn wrong_automated() -> Error {
    wrong_at(&["shown", "automated"], "must be true or false")
}

/// `None` for a malformed value: the choice must not be lost because of optional data.
fn leniently<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<ShownClaim>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(ShownClaim::deserialize(value).ok())
}

impl RecordRequest {
    /// Whether it is a decline or a withdrawal.
    pub fn is_refusal(&self) -> bool {
        let state = self.consent.as_deref().and_then(ConsentState::parse);
        state.is_some_and(|state| state != ConsentState::Accepted)
    }

    /// The answer and the visitor, if both are valid.
    pub(super) fn identified(&self) -> Option<(ConsentState, VisitorId)> {
        let state = ConsentState::parse(self.consent.as_deref()?)?;
        let visitor_id = VisitorId::parse(self.visitor_id.as_deref()?)?;
        Some((state, visitor_id))
    }

    /// The purposes that the choice grants, sorted; `None` if it is invalid. An acceptance must be
    /// affirmative, refer to the current policy, and contain only purposes of it.
    pub(in crate::receipts) fn granted(
        &self,
        state: ConsentState,
        policy: &Policy,
    ) -> Option<Vec<Purpose>> {
        if state != ConsentState::Accepted {
            return Some(Vec::new());
        }
        let is_current = self.policy_version_hash.as_deref() == Some(policy.hash.as_str());
        if self.affirmative != Some(true) || !is_current {
            return None;
        }
        let names = self.purposes.as_deref().unwrap_or_default();
        let mut purposes = names
            .iter()
            .map(|name| Purpose::parse(name).filter(|&purpose| policy.covers(purpose)))
            .collect::<Option<Vec<_>>>()?;
        purposes.sort_by_key(|purpose| purpose.as_str());
        purposes.dedup();
        (!purposes.is_empty()).then_some(purposes)
    }
}

/// Number of bytes of the time in a UUID of version 7.
const TIME_BYTES: usize = 6;

/// The idempotency key of a choice. It is derived from the id, the visitor and the answer; other fields do not
/// change it. It is stored in the column `choice_id`, which is unique per pixel. If the id begins with its time
/// (version 7 of RFC 9562), the key begins with the same time, so that new choices are adjacent in the index.
pub(super) fn choice_of(choice_id: Uuid, visitor_id: &VisitorId, state: ConsentState) -> Uuid {
    let parts: [&[u8]; 3] =
        [choice_id.as_bytes(), state.as_str().as_bytes(), visitor_id.as_str().as_bytes()];
    let mut hash = Sha256::new();
    for part in parts {
        // The first part has a fixed length and the others contain no zero byte, so the input is unambiguous.
        hash.update(part);
        hash.update([0]);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    if choice_id.get_version() == Some(uuid::Version::SortRand) {
        bytes[..TIME_BYTES].copy_from_slice(&choice_id.as_bytes()[..TIME_BYTES]);
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(choice_id: &str, visitor: &str, state: ConsentState) -> Uuid {
        let visitor = VisitorId::from(visitor.to_owned());
        choice_of(choice_id.parse().unwrap(), &visitor, state)
    }

    const RANDOM: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
    const TIMED: &str = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";

    #[test]
    fn a_repeat_is_the_same_choice_only_of_the_same_visitor_and_answer() {
        for id in [RANDOM, TIMED] {
            let choice = kept(id, "ann", ConsentState::Accepted);
            assert_eq!(kept(id, "ann", ConsentState::Accepted), choice);
            assert_ne!(kept(id, "bob", ConsentState::Accepted), choice);
            assert_ne!(kept(id, "ann", ConsentState::Declined), choice);
        }
    }

    #[test]
    fn the_time_of_an_id_stays_in_front_and_a_random_one_is_kept_as_before() {
        let timed = kept(TIMED, "ann", ConsentState::Accepted).to_string();
        assert!(timed.starts_with("019a2b3c-4d5e-8"), "{timed}");
        let random = kept(RANDOM, "ann", ConsentState::Accepted).to_string();
        assert_eq!(random, "7ca8a6ba-5bc4-8082-a320-c9cca9c2e795");
    }
}
