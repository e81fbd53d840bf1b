//! The leaf of a choice in the log: a hash of a random salt, the receipt and what was shown. These three
//! values prove that the choice is in the log. Without the salt, nobody can recognise the hash, even by
//! guessing the other values.

use crate::consent_receipt::notice_snapshot::{Shown, StatedShown};
use crate::consent_receipt::receipt::Receipt;
use crate::error::Result;
use crate::proof::format::hashes::{self, Hash};

/// Length of a salt in bytes.
const SALT: usize = 32;
/// Capacity for the JSON around the receipt.
const AROUND: usize = 256;

/// The leaf of a choice that is not in the log yet.
pub struct Leaf {
    pub salt: Hash,
    pub hash: Hash,
}

impl Leaf {
    /// The leaf of a receipt, given as canonical JSON, with a new salt.
    pub fn of(receipt: &[u8], shown: Option<&Shown>) -> Self {
        Self::with_salt(rand::random(), receipt, shown)
    }

    fn with_salt(salt: Hash, receipt: &[u8], shown: Option<&Shown>) -> Self {
        let mut salted = Vec::with_capacity(SALT + receipt.len() + AROUND);
        salted.extend_from_slice(&salt);
        write_statement(&mut salted, receipt, shown);
        Self { salt, hash: hashes::leaf(&salted) }
    }

    pub fn recomputed(salt: Hash, receipt: &Receipt, shown: Option<&Shown>) -> Result<Self> {
        Ok(Self::with_salt(salt, &receipt.canonical()?, shown))
    }
}

/// Writes canonical JSON of `receipt` and `shown`. [`StatedShown`] serialises canonically: its names are sorted,
/// and its values are plain ASCII.
fn write_statement(text: &mut Vec<u8>, receipt: &[u8], shown: Option<&Shown>) {
    text.extend_from_slice(br#"{"receipt":"#);
    text.extend_from_slice(receipt);
    text.extend_from_slice(br#","shown":"#);
    serde_json::to_writer(&mut *text, &shown.map(StatedShown::from))
        .expect("what was shown is JSON");
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::consent_receipt::user_action::{Act, Seen, UserAction};
    use crate::proof::verifying::leaf_of;

    #[test]
    fn a_leaf_is_of_the_canonical_form_that_anyone_can_compute() {
        let receipt = json!({"b": [1], "a": "ü"});
        let canonical = serde_json_canonicalizer::to_vec(&receipt).unwrap();
        let action = UserAction {
            act: Some(Act::Keyboard),
            seen: Some(Seen::UnderFiveSeconds),
            automated: Some(false),
        };
        let shown = |action| {
            Some(Shown { language: "de".to_owned(), notice: Some([1; 32]), script: None, action })
        };
        let earlier = json!({"language": "de", "notice": "01".repeat(32), "script": null});
        let mut stated = earlier.clone();
        stated["act"] = json!("keyboard");
        stated["automated"] = json!(false);
        stated["seen"] = json!("under_5s");
        for (shown, stated) in
            [(shown(action), stated), (shown(UserAction::default()), earlier), (None, json!(null))]
        {
            let leaf = Leaf::of(&canonical, shown.as_ref());
            let statement = json!({"shown": stated, "receipt": receipt});
            let statement = serde_json_canonicalizer::to_vec(&statement).unwrap();
            assert_eq!(leaf.hash, leaf_of(&leaf.salt, &statement));
            assert_ne!(leaf.hash, Leaf::of(&canonical, shown.as_ref()).hash);
        }
    }
}
