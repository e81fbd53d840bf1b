//! The choices of a day, in the form in which they are summed and stored.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::types::consent::ConsentState;

/// The number of equal choices on a day.
pub struct ChoiceCount {
    pub day: NaiveDate,
    pub state: ConsentState,
    /// By name: purposes known only to a newer version are counted too.
    pub purposes: Vec<String>,
    pub policy_hash: String,
    /// The language in which the visitor was asked, if known.
    pub language: Option<String>,
    /// The reported user action, if known.
    pub act: Option<String>,
    pub count: i64,
}

/// The number of visitors with an event on a day.
pub struct VisitorCount {
    pub day: NaiveDate,
    pub count: i64,
}

/// Accepted, declined, withdrawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByState(pub [i64; 3]);

impl ByState {
    pub fn add(&mut self, other: Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }

    fn of(state: ConsentState, count: i64) -> Self {
        Self(match state {
            ConsentState::Accepted => [count, 0, 0],
            ConsentState::Declined => [0, count, 0],
            ConsentState::Withdrawn => [0, 0, count],
        })
    }
}

/// The choices of a day. Every choice belongs to one policy and one language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DayChoices {
    /// The number of grants of each purpose.
    pub purposes: BTreeMap<String, i64>,
    /// By the hash of the answered policy.
    pub policies: BTreeMap<String, ByState>,
    /// By the language in which visitors were asked; empty if unknown.
    pub languages: BTreeMap<String, ByState>,
    /// By the reported user action. Choices without one are in no entry: days that were counted before user actions
    /// were stored have no entries either.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub acts: BTreeMap<String, ByState>,
    /// By policy, then by language. Days that were counted before these pairs were stored have no entries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_languages: BTreeMap<String, BTreeMap<String, ByState>>,
}

impl DayChoices {
    pub fn add(&mut self, choices: ChoiceCount) {
        let ChoiceCount { state, purposes, policy_hash, language, act, count, .. } = choices;
        for purpose in purposes {
            *self.purposes.entry(purpose).or_default() += count;
        }
        let counted = ByState::of(state, count);
        let language = language.unwrap_or_default();
        self.policies.entry(policy_hash.clone()).or_default().add(counted);
        self.languages.entry(language.clone()).or_default().add(counted);
        let of_policy = self.policy_languages.entry(policy_hash).or_default();
        of_policy.entry(language).or_default().add(counted);
        if let Some(act) = act {
            self.acts.entry(act).or_default().add(counted);
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: Self) {
        for (purpose, count) in other.purposes {
            *self.purposes.entry(purpose).or_default() += count;
        }
        for (policy_hash, counted) in other.policies {
            self.policies.entry(policy_hash).or_default().add(counted);
        }
        for (language, counted) in other.languages {
            self.languages.entry(language).or_default().add(counted);
        }
        for (act, counted) in other.acts {
            self.acts.entry(act).or_default().add(counted);
        }
        for (policy_hash, languages) in other.policy_languages {
            let of_policy = self.policy_languages.entry(policy_hash).or_default();
            for (language, counted) in languages {
                of_policy.entry(language).or_default().add(counted);
            }
        }
    }

    /// The choices by policy and language. Missing pairs are derived if there is only one policy or one language.
    pub fn by_policy_and_language(&self) -> Vec<(&str, &str, ByState)> {
        let stored = self.policy_languages.iter().flat_map(|(policy_hash, languages)| {
            let of_policy = languages.iter();
            of_policy.map(move |(language, counted)| (&**policy_hash, &**language, *counted))
        });
        let stored = stored.collect::<Vec<_>>();
        let mut sum = ByState::default();
        stored.iter().for_each(|(.., counted)| sum.add(*counted));
        let has_one_policy = self.policies.len() == 1;
        if sum == self.by_state() || !(has_one_policy || self.languages.len() == 1) {
            return stored;
        }
        let pairs = self.policies.iter().flat_map(|(policy_hash, of_policy)| {
            self.languages.iter().map(move |(language, of_language)| {
                let counted = if has_one_policy { of_language } else { of_policy };
                (&**policy_hash, &**language, *counted)
            })
        });
        pairs.collect()
    }

    pub fn without_act(&self) -> ByState {
        let mut rest = self.by_state();
        for counted in self.acts.values() {
            for (left, count) in rest.0.iter_mut().zip(counted.0) {
                *left -= count;
            }
        }
        rest
    }

    pub fn by_state(&self) -> ByState {
        self.policies.values().fold(ByState::default(), |mut sum, counted| {
            sum.add(*counted);
            sum
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayTally {
    /// Visitors who saw the popup.
    pub shown: i64,
    /// Visitors who made a choice.
    pub choosers: i64,
    pub choices: DayChoices,
}

impl DayTally {
    /// Adds another part of the same day; no visitor may be counted in both.
    pub fn merge(&mut self, other: Self) {
        self.shown += other.shown;
        self.choosers += other.choosers;
        self.choices.merge(other.choices);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn choices(state: ConsentState, language: Option<&str>, count: i64) -> ChoiceCount {
        let purposes = match state {
            ConsentState::Accepted => vec!["analytics".to_owned(), "of tomorrow".to_owned()],
            ConsentState::Declined | ConsentState::Withdrawn => Vec::new(),
        };
        let language = language.map(str::to_owned);
        let policy_hash = "a".to_owned();
        let (day, act) = (NaiveDate::default(), language.clone().map(|_| "pointer".to_owned()));
        ChoiceCount { day, state, purposes, policy_hash, language, act, count }
    }

    fn counted(all: &[(ConsentState, Option<&str>, i64)]) -> DayChoices {
        let mut day = DayChoices::default();
        for (state, language, count) in all {
            day.add(choices(*state, *language, *count));
        }
        day
    }

    #[test]
    fn parts_of_a_day_make_the_same_as_the_whole() {
        let all = [
            (ConsentState::Accepted, Some("de"), 3),
            (ConsentState::Declined, None, 2),
            (ConsentState::Accepted, Some("ar"), 1),
            (ConsentState::Withdrawn, Some("de"), 4),
        ];
        for cut in 0..=all.len() {
            let mut sum = counted(&all[..cut]);
            sum.merge(counted(&all[cut..]));
            assert_eq!(sum, counted(&all), "{cut}");
            assert_eq!(sum.by_state(), ByState([4, 2, 4]));
            assert_eq!(sum.without_act(), ByState([0, 2, 0]));
        }
    }

    #[test]
    fn a_day_is_kept_as_it_was_and_what_is_missing_is_none() {
        let day = counted(&[(ConsentState::Accepted, None, 3), (ConsentState::Declined, None, 2)]);
        let kept = serde_json::to_value(&day).unwrap();
        let wanted = json!({
            "purposes": {"analytics": 3, "of tomorrow": 3},
            "policies": {"a": [3, 2, 0]}, "languages": {"": [3, 2, 0]},
            "policy_languages": {"a": {"": [3, 2, 0]}},
        });
        assert_eq!(kept, wanted);
        assert_eq!(serde_json::from_value::<DayChoices>(kept).unwrap(), day);
        assert_eq!(serde_json::from_value::<DayChoices>(json!({})).unwrap(), DayChoices::default());
    }

    #[test]
    fn a_day_without_languages_of_policies_is_split_where_that_is_certain() {
        let kept = |policies: serde_json::Value, languages: serde_json::Value| {
            let day = json!({"policies": policies, "languages": languages});
            serde_json::from_value::<DayChoices>(day).unwrap()
        };
        let [one, two] = [ByState([1, 0, 0]), ByState([0, 2, 0])];
        let day = kept(json!({"a": [1, 2, 0]}), json!({"de": [1, 0, 0], "fr": [0, 2, 0]}));
        assert_eq!(day.by_policy_and_language(), [("a", "de", one), ("a", "fr", two)]);
        let day = kept(json!({"a": [1, 0, 0], "b": [0, 2, 0]}), json!({"de": [1, 2, 0]}));
        assert_eq!(day.by_policy_and_language(), [("a", "de", one), ("b", "de", two)]);
        let both = json!({"de": [1, 0, 0], "fr": [0, 2, 0]});
        let mut day = kept(json!({"a": [1, 0, 0], "b": [0, 2, 0]}), both);
        assert!(day.by_policy_and_language().is_empty());
        day.add(choices(ConsentState::Accepted, Some("de"), 1));
        assert_eq!(day.by_policy_and_language(), [("a", "de", one)]);
    }
}
