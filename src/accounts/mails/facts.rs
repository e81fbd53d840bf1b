use crate::infra::templates::{Message, tr};

/// The name of a key, an app or a passkey, or a placeholder if it is unsafe in a mail.
pub fn shown(name: &str) -> Message {
    if is_plain(name) { Message::plain(name) } else { tr("as the console shows it") }
}

/// Translates the stored form of an actor.
pub fn maker(name: String) -> Message {
    match name.as_str() {
        "signup token" => tr("signup token"),
        "operator" => tr("operator"),
        "payment provider" => tr("payment provider"),
        "service" => tr("service"),
        _ => Message::Plain(name),
    }
}

/// Translates the browser of a session as it is stored, such as "Firefox on Windows".
pub fn browser(name: &str) -> Message {
    match name.split_once(" on ") {
        Some((browser, system)) => tr("{{ browser }} on {{ system }}")
            .with("browser", software(browser))
            .with("system", software(system)),
        None => software(name),
    }
}

fn software(name: &str) -> Message {
    match name {
        "A browser" => tr("A browser"),
        "an iPhone" => tr("an iPhone"),
        "an iPad" => tr("an iPad"),
        "a Mac" => tr("a Mac"),
        _ => Message::plain(name),
    }
}

/// Whether a name consists of words and numbers, so that its author cannot put a link into the mail.
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
