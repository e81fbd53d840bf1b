use chrono::{DateTime, Utc};

/// The name of a key, an app or a passkey, as far as a mail may repeat it.
pub fn shown(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { "as the console shows it".to_owned() }
}

pub fn moment(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M UTC").to_string()
}

/// Whether a name consists of words and numbers: its maker must not put a link into the mail.
fn is_plain(name: &str) -> bool {
    const MOST_CHARACTERS: usize = 40;
    let fits = |character: char| character.is_alphanumeric() || " -_'’".contains(character);
    name.chars().count() <= MOST_CHARACTERS && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_words_and_numbers() {
        for name in ["shop server", "CI-2", "nightly_export", "Ann’s laptop", "サーバー 3"] {
            assert!(is_plain(name), "{name}");
        }
        let long = "x".repeat(41);
        for name in ["evil.example", "https://evil", "a\r\nBcc: b", "<b>", "call: 0900", &long] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
