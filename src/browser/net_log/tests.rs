//! Logs that end early or lack a part.

use super::{NetLog, is_closed, read};

const CONSTANTS: &str = r#"{"constants": {"logEventTypes":{"COOKIE_STORE_COOKIE_ADDED":7,
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":8,"REQUEST_ALIVE":9}},"#;
const EVENTS: [&str; 4] = [
    r#"{"phase":1,"source":{"id":1,"start_time":"10","type":1},"time":"10","type":9}"#,
    r#"{"params":{"headers":["HTTP/1.1 200 OK","Set-Cookie: id=\u00e9]}; Max-Age=90000"]},"phase":0,"source":{"id":1,"type":1},"time":"20","type":8}"#,
    r#"{"params":{"domain":"shop.test","is_persistent":true,"name":"id","value":"\u00e9]}"},"phase":0,"source":{"id":2,"type":3},"time":"21","type":7}"#,
    r#"{"phase":2,"source":{"id":-2147483646,"type":25},"time":"30","type":9}"#,
];
/// Both ends that a browser writes.
const ENDS: [&str; 2] = ["]}\n", "],\n\"polledData\": {\"a\":[{}]}\n}\n"];

fn log_of(events: &[&str], end: &str) -> String {
    format!("{}\n\"events\": [\n{}{end}", CONSTANTS.replace('\n', ""), events.join(",\n"))
}

/// The log in a text, if it can be read, and whether its end was written.
fn read_text(text: &[u8]) -> (Option<NetLog>, bool) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    (read(file.path()).ok(), is_closed(file.path()))
}

#[test]
fn both_ends_complete_a_log() {
    for end in ENDS {
        for count in 0..=EVENTS.len() {
            let (log, is_closed) = read_text(log_of(&EVENTS[..count], end).as_bytes());
            assert_eq!(log.unwrap().missing(None), None, "{count} events, {end}");
            assert!(is_closed, "{count} events, {end}");
        }
        let (log, _) = read_text(log_of(&EVENTS, end).as_bytes());
        let cookie = log.unwrap().cookies_written.remove(0);
        assert_eq!((&*cookie.value, cookie.lifetime_s), ("é]}", Some(90_000.0)));
    }
}

#[test]
fn a_log_that_was_cut_anywhere_is_not_complete() {
    for end in ENDS {
        let text = log_of(&EVENTS, end);
        for length in 0..text.len() - 1 {
            let (log, _) = read_text(&text.as_bytes()[..length]);
            let is_complete = log.is_some_and(|log| log.missing(None).is_none());
            assert!(!is_complete, "{}", String::from_utf8_lossy(&text.as_bytes()[..length]));
        }
    }
}

#[test]
fn a_log_that_was_cut_after_the_visit_reaches_its_end() {
    let text = log_of(&EVENTS, ",\n{\"phase\":0,\"sour");
    let (log, is_closed) = read_text(text.as_bytes());
    let log = log.unwrap();
    assert!(!is_closed && log.missing(None).is_some());
    assert_eq!(log.missing(Some(29.0)), None);
    assert!(log.missing(Some(30.0)).is_some(), "an event may follow at the same time");
}

#[test]
fn a_log_that_lacks_a_part_in_the_middle_is_not_complete() {
    for end in ENDS {
        let text = log_of(&EVENTS, end);
        let start = text.find(EVENTS[1]).unwrap() + 30;
        for left in [31, 30, 28] {
            let next = start + EVENTS[1].len() - left;
            let torn = [&text[..start], &text[next..]].concat();
            let (log, is_closed) = read_text(torn.as_bytes());
            assert!(is_closed && log.unwrap().missing(Some(5.0)).is_some(), "{torn}");
        }
    }
}
