//! Any change of a proof file is detected, or belongs to what the verdict reports as not checked.

use std::ops::Range;

use assent::proof::verifying::verify;
use serde_json::Value;

use crate::support::transparency_log::made_proofs::Making;

/// Whether the verdict reports the part at this pointer as not checked.
fn is_left_open(pointer: &str, sentences: &str) -> bool {
    let open = [
        ("/growth", "Not checked: how the log grew"),
        ("/timestamp/token", "Not checked: who gave it."),
    ];
    open.iter().any(|(part, words)| pointer.starts_with(part) && sentences.contains(words))
}

/// The range of the text that contains the value at this pointer.
fn range_of(text: &str, proof: &Value, pointer: &str) -> Range<usize> {
    let value = proof.pointer(pointer).unwrap().to_string();
    let start = text.find(&value).unwrap();
    start..start + value.len()
}

#[test]
fn every_changed_byte_is_detected_or_reported_as_not_checked() {
    let (making, log) = (Making::usual(), Making::usual().log());
    let (proof, trusted) = (making.proof(), log.trusted());
    let text = proof.to_string();
    let open =
        ["/growth", "/timestamp/token"].map(|pointer| (pointer, range_of(&text, &proof, pointer)));
    let mut unchecked = 0;
    for mask in [0x01, 0x04, 0x20, 0x80] {
        let step = if mask == 0x01 { 1 } else { 3 };
        for index in (0..text.len()).step_by(step) {
            let mut bytes = text.clone().into_bytes();
            bytes[index] ^= mask;
            let changed = String::from_utf8_lossy(&bytes);
            let verdict = verify(&changed, &trusted, None);
            if verdict.valid {
                let sentences = verdict.sentences.join("\n");
                let found = open.iter().find(|(_, range)| range.contains(&index));
                let is_open = found.is_some_and(|(pointer, _)| is_left_open(pointer, &sentences));
                assert!(is_open, "{index} {mask}: {changed}");
                unchecked += 1;
            }
        }
    }
    assert!(unchecked > 0, "growth cannot be checked without a kept checkpoint");
    // With a kept checkpoint, growth is checked like everything else.
    let kept = making.kept();
    for index in range_of(&text, &proof, "/growth") {
        let mut bytes = text.clone().into_bytes();
        bytes[index] ^= 1;
        let changed = String::from_utf8_lossy(&bytes);
        assert!(!verify(&changed, &trusted, Some(&kept)).valid, "{index}");
    }
}

/// The pointers of all members and elements of a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let pointer = format!("{at}/{name}");
        pointers(value, &pointer, found);
        found.push(pointer);
    }
}

/// The value without the part at a pointer.
fn without(value: &Value, pointer: &str) -> Value {
    let mut value = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => unreachable!(),
    }
    value
}

#[test]
fn every_removed_member_is_detected_or_reported_as_missing() {
    let (proof, trusted) = (Making::usual().proof(), Making::usual().log().trusted());
    let mut found = Vec::new();
    pointers(&proof, "", &mut found);
    assert!(found.len() > 35, "{found:?}");
    for pointer in found {
        let verdict = verify(&without(&proof, &pointer).to_string(), &trusted, None);
        let sentences = verdict.sentences.join("\n");
        let kind = ["policy", "notice", "script"];
        let named = match pointer
            .strip_prefix("/publications/")
            .and_then(|index| index.parse::<usize>().ok())
        {
            Some(index) => {
                let words = format!("Not checked: when the {} was published.", kind[index]);
                sentences.contains(&words)
            }
            None if pointer == "/timestamp" => sentences.contains("No time stamp is in this file."),
            None => is_left_open(&pointer, &sentences),
        };
        assert!(!verdict.valid || named, "{pointer}: {sentences}");
    }
}

#[test]
fn every_added_or_duplicated_member_is_detected() {
    let (proof, trusted) = (Making::usual().proof(), Making::usual().log().trusted());
    let text = proof.to_string();
    let mut tried = 0;
    for (index, _) in text.match_indices(['{', ',']) {
        let rest = &text[index + 1..];
        let member = rest.strip_prefix('"').and_then(|rest| rest.split_once("\":"));
        let Some((name, _)) = member.filter(|(name, _)| !name.contains(['"', ' '])) else {
            continue;
        };
        for added in [format!("\"{name}\":null,"), "\"more\":null,".to_owned()] {
            let changed = format!("{}{added}{rest}", &text[..=index]);
            assert!(!verify(&changed, &trusted, None).valid, "{added} at {index}");
            tried += 1;
        }
    }
    assert!(tried > 70, "{tried}");
}
