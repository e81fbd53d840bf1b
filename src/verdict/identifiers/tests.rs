use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};

use super::*;
use crate::clock::Clock;

fn long(digest: &str) -> StoredValue {
    StoredValue {
        owner: "shop.test".to_owned(),
        store: "local_storage",
        name: "state".to_owned(),
        value: "beginning and end".to_owned(),
        lifetime_s: None,
        is_session: false,
        digest: Some(digest.to_owned()),
    }
}

#[test]
fn the_middle_of_a_long_value_is_unread_where_no_other_profile_has_the_same() {
    let mut profiles = Profiles::default();
    let visits = [(Visit::Untouched, "a"), (Visit::Gpc, "a"), (Visit::Blocked, "b")];
    for (visit, digest) in visits {
        profiles.add(visit, false, vec![long(digest)], Vec::new());
    }
    let unread = visits.map(|(visit, digest)| profiles.compared(visit).is_unread(&long(digest)));
    assert_eq!(unread, [false, false, true]);
    let short = StoredValue { digest: None, ..long("c") };
    let session = StoredValue { store: "session_storage", ..long("c") };
    let gpc = profiles.compared(Visit::Gpc);
    assert!(!gpc.is_unread(&short) && !gpc.is_unread(&session));
}

fn entry(name: &str, value: &str) -> StoredValue {
    let (name, value) = (name.to_owned(), value.to_owned());
    StoredValue { name, value, digest: None, ..long("") }
}

fn profiles(entries: [Vec<StoredValue>; 6]) -> Profiles {
    let mut profiles = Profiles::default();
    for (visit, entries) in Visit::ALL.into_iter().zip(entries) {
        let stored = [vec![entry("theme", "dark")], entries.clone()].concat();
        profiles.add(visit, false, stored, entries);
    }
    profiles
}

#[test]
fn an_entry_of_one_profile_is_no_identifier_if_it_has_words_times_and_small_numbers_only() {
    let now = Clock::System.now().timestamp_millis();
    let dated = format!(r#"{{"id":"exp-42","variant":"b","ts":{now}}}"#);
    let entries = [
        ("exp_checkout_button", "variant-b", false),
        ("ab_test_42", "control", false),
        ("_vis_opt_exp_12_combi", "2", false),
        ("AMP_EXP_x", "1", false),
        ("experiments", r#"{"checkout":"variantB","hero":"new-layout-large"}"#, false),
        ("experiment", dated.as_str(), false),
        ("vitals", r#"{"lcp":1234.5,"fcp":456.7,"ttfb":88.3}"#, false),
        ("uid", "f81d4fae7dec", true),
        ("optimizelyEndUserId", "oeu1764251234567r0.4826836557329146", true),
        ("visitor", "k3j9x0ab", true),
        ("group", "aBcDeFgH", true),
        ("n", "482193847", true),
    ];
    for (name, value, identifies) in entries {
        let own = entry(name, value);
        let mut all = <[Vec<StoredValue>; 6]>::default();
        all[0].push(own.clone());
        let bits = profiles(all).compared(Visit::Untouched).bits(&own);
        assert_eq!(bits >= MIN_BITS, identifies, "{name}={value}: {bits}");
    }
}

#[test]
fn a_visit_that_alone_has_several_words_is_repeated_and_then_they_count() {
    let word = |value: &str| vec![entry("visitor", value)];
    let (own, again) = (word("brave-otter-tango-falcon"), word("quiet-tiger-polka-raven"));
    let with_own = || {
        let of_visit = |visit: Visit| (visit == Visit::Gpc).then(|| own.clone());
        profiles(Visit::ALL.map(|visit| of_visit(visit).unwrap_or_default()))
    };
    let identifier =
        |profiles: &Profiles| profiles.compared(Visit::Gpc).identifier(&own[0]).is_some();
    let (mut all, mut same) = (with_own(), with_own());
    assert!(!identifier(&all));
    assert_eq!(unconfirmed(&all), Some(Visit::Gpc));
    same.add(Visit::Gpc, false, own.clone(), own.clone());
    assert!(!identifier(&same), "everybody has these words");
    all.add(Visit::Gpc, false, again.clone(), again);
    assert!(identifier(&all));
}

/// A pseudo-random text for each number of each profile.
fn random(profile: usize, number: usize) -> String {
    let hex = hex::encode(Sha256::digest(format!("{profile} {number}")));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]].join("-")
}

#[test]
fn a_thousand_entries_with_random_names_take_little_time_and_hide_no_identifier() {
    let used = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
    let before = used();
    let mut number = 0;
    let stored = Visit::ALL.map(|_| {
        number += 1;
        let names = (1..999).map(|at| entry(&random(number, at), "1"));
        names.chain([entry("visitor", &random(number, 0))]).collect::<Vec<_>>()
    });
    let profiles = profiles(stored.clone());
    assert_eq!(unconfirmed(&profiles), Some(Visit::Gpc));
    for (visit, stored) in Visit::ALL.into_iter().zip(&stored) {
        let compared = profiles.compared(visit);
        let found = stored.iter().filter(|value| compared.identifier(value).is_some());
        let found = found.map(|value| value.name.as_str()).collect::<Vec<_>>();
        assert!(found.contains(&"visitor") && found.len() > 990, "{}", found.len());
    }
    let took = used() - before;
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn names_that_no_other_profile_has_identify_if_they_are_no_words() {
    let tests = ["checkout_button", "hero", "price_table", "search_box", "footer", "menu"];
    let tests = tests.map(|test| vec![entry(&format!("exp_{test}"), "variant-b")]);
    let ids = ["f81d4fae", "0b5c1e36", "93ac77d1", "5e6f70a1", "c2d48b9e", "7a1064f3"];
    let ids = ids.map(|id| vec![entry(&format!("seen-{id}"), "1")]);
    for (all, identify) in [(tests, false), (ids, true)] {
        let own = all[0][0].clone();
        let bits = profiles(all).compared(Visit::Untouched).bits(&own);
        assert_eq!(bits >= MIN_BITS, identify, "{}: {bits}", own.name);
    }
}

#[test]
fn values_identify_together_unless_they_are_durations() {
    let loads = ["1234", "2180", "1399", "2267", "1302", "3221"];
    let loads = loads.map(|load| ["lcp", "fcp", "loadTime"].map(|name| entry(name, load)));
    let halves = ["3f2ad0c9", "c81d1e84", "07bea37f", "91d46b52", "e6a048f6", "5b73f91b"];
    let halves = halves.map(|id| vec![entry("one", &id[..4]), entry("two", &id[4..])]);
    for (all, expected) in [(loads.map(Vec::from), 0), (halves, 2)] {
        let own = all[0].clone();
        let together = profiles(all).together(&own.iter().collect::<Vec<_>>()).len();
        assert_eq!(together, expected, "{own:?}");
    }
}

#[test]
fn small_buckets_and_groups_do_not_identify_together_and_random_bytes_do() {
    let groups = ["control", "variantB", "variantC", "variantD", "variantE"];
    let written = |form: &str, byte: u8| match form {
        "bucket" => (byte % 100).to_string(),
        "json" => format!("{{\"bucket\":{byte},\"group\":\"b\"}}"),
        "group" => groups[usize::from(byte % 5)].to_owned(),
        _ => format!("{byte:02x}"),
    };
    for (form, expected) in [("bucket", 0), ("json", 0), ("group", 0), ("part", 10)] {
        let entries = |profile: usize| {
            let value = |at: usize| Sha256::digest(format!("{profile} {at}"))[0];
            let named = (0..10).map(|at| entry(&format!("{form}{at}"), &written(form, value(at))));
            named.collect::<Vec<_>>()
        };
        let profiles = profiles([0, 1, 2, 3, 4, 5].map(entries));
        let own = entries(0);
        let together = profiles.together(&own.iter().collect::<Vec<_>>()).len();
        assert_eq!(together, expected, "{form}");
    }
}

#[test]
fn what_only_a_second_view_stores_is_compared_with_the_same_view_of_another_profile() {
    let later = |time: &str| vec![entry("remindAt", time)];
    let with_two_views = || {
        let mut profiles = Profiles::default();
        for visit in Visit::ALL {
            let more = if visit == Visit::Returning { later("1765105012345") } else { Vec::new() };
            let stored = [vec![entry("theme", "dark")], more.clone()].concat();
            profiles.add(visit, visit.has_choice(), stored, more);
        }
        profiles
    };
    let mut all = with_two_views();
    assert_eq!(unconfirmed(&all), Some(Visit::Returning));
    let again = later("1765105019876");
    all.add(Visit::Returning, true, again.clone(), again);
    let own = &later("1765105012345")[0];
    assert!(all.compared(Visit::Returning).identifier(own).is_none(), "a time of everybody");
    assert_eq!(unconfirmed(&all), None);
    let mut all = with_two_views();
    all.add(Visit::Returning, true, vec![entry("theme", "dark")], Vec::new());
    assert_eq!(unconfirmed(&all), None, "it is not repeated twice");
}
