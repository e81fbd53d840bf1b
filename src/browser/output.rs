//! The standard error of a browser, with the reason why it did not start.

use std::fs::File;
use std::io::Read;
use std::path::Path;

const MAX_BYTES: u64 = 1 << 20;

/// The text of the file, with unreadable bytes replaced.
pub fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the browser ended because the machine provides no sandbox.
pub fn lacks_sandbox(text: &str) -> bool {
    ["No usable sandbox", "The SUID sandbox helper", "Failed to move to new namespace"]
        .iter()
        .any(|sign| text.contains(sign))
}
