//! The lines of a log: the constants, then a list with one event per line, and perhaps polled data.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub struct Event {
    #[serde(rename = "type")]
    pub kind: u64,
    #[serde(default)]
    pub phase: u8,
    pub source: Source,
    pub time: String,
    #[serde(default)]
    pub params: Value,
}

#[derive(Deserialize)]
pub struct Source {
    /// Negative if a process other than the network service assigned it.
    pub id: i64,
}

/// Tracks whether a log is complete, from the lines after the constants that were read so far.
#[derive(Default)]
pub struct Lines {
    is_list_closed: bool,
    /// The browser has written the end of the log.
    pub is_closed: bool,
    is_broken_off: bool,
    /// A line before the last one cannot be read.
    pub has_gap: bool,
}

impl Lines {
    /// Reads the next line. Returns its event, if it has one.
    pub fn event(&mut self, line: &[u8]) -> Option<Event> {
        // A killed browser truncates only the last line. After a full disk, the log continues in the middle of a line.
        self.has_gap |= self.is_broken_off || self.is_closed;
        let line = line.trim_ascii();
        if self.is_list_closed {
            self.is_closed = line == b"}";
            return None;
        }
        if line.starts_with(b"\"events\":") {
            return None;
        }
        let event = parsed(line.strip_suffix(b",").unwrap_or(line));
        if event.is_some() { event } else { self.last_event(line) }
    }

    /// The last event, if there is one, is followed by `]}`, or by `],` and the polled data.
    fn last_event(&mut self, line: &[u8]) -> Option<Event> {
        let (text, is_closed) = match (line.strip_suffix(b"]}"), line.strip_suffix(b"],")) {
            (Some(text), _) => (text, true),
            (None, Some(text)) => (text, false),
            (None, None) => (line, false),
        };
        let event = parsed(text);
        if text.len() < line.len() && (text.is_empty() || event.is_some()) {
            (self.is_list_closed, self.is_closed) = (true, is_closed);
        } else {
            self.is_broken_off = true;
        }
        event
    }
}

fn parsed(text: &[u8]) -> Option<Event> {
    serde_json::from_slice(text).ok()
}

/// Whether the browser has written the end of a log. All other lines end with a comma or `[`.
pub fn is_closed(path: &Path) -> bool {
    let mut end = [0; 2];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-2))?;
        file.read_exact(&mut end)
    });
    read.is_ok() && end == *b"}\n"
}
