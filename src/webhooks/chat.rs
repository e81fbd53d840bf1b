//! Events as Slack and Discord messages: one line with what happened and a link.

use serde_json::{Value, json};

use super::format::Format;
use crate::infra::events::EventKind;

/// Maximum characters of a message before escaping: Discord accepts 2,000.
const LONGEST: usize = 900;
const LONGEST_FIELD: usize = 100;
const FIELDS: [&str; 3] = ["email", "company", "title"];

/// The message about an event, or the test message if `kind` is `None`.
pub fn message(format: Format, kind: Option<EventKind>, data: &Value, base_url: &str) -> Value {
    let (text, path) = match kind {
        Some(kind) => line_of(kind, data),
        None => ("This is a test: messages of Assent arrive here.".to_owned(), None),
    };
    let text = short(&text, LONGEST);
    let link = path.map(|path| format!("{base_url}{path}"));
    if format == Format::Slack {
        let link = link.map(|link| format!("\n<{link}|Open in the console>"));
        return json!({"text": escape_slack(&text) + link.as_deref().unwrap_or_default()});
    }
    let link = link.map(|link| format!("\n[Open in the console](<{link}>)"));
    json!({
        "content": escape_discord(&text) + link.as_deref().unwrap_or_default(),
        // Text in a message must not mention anybody.
        "allowed_mentions": {"parse": []},
    })
}

fn line_of(kind: EventKind, data: &Value) -> (String, Option<String>) {
    let host = text(&data["domain"]);
    let screen = |name: &str| {
        data["pixel_id"].as_str().map(|pixel_id| format!("/console/sites/{pixel_id}/{name}"))
    };
    match kind {
        EventKind::ContactCreated => (contact("New contact", host, data), screen(&of_person(data))),
        EventKind::ContactUpdated => {
            (contact("Contact seen again", host, data), screen(&of_person(data)))
        }
        EventKind::ContactWithdrawn => {
            let id = &data["contact"]["id"];
            let asks = "Please delete what was posted of it.";
            (
                format!("The consent for contact {id} of {host} has ended. {asks}"),
                screen("contacts"),
            )
        }
        EventKind::ChoiceRecorded => {
            let receipt = &data["receipt"];
            let path = format!("choices/{}", text(&receipt["receipt_id"]));
            (choice(host, receipt), screen(&path))
        }
        EventKind::PolicyPublished => {
            let version = &data["policy"]["policy_version"];
            (format!("Version {version} of the notice of {host} is published."), screen("popup"))
        }
        EventKind::InstallChanged => {
            let change = match text(&data["change"]) {
                "installed" => "is installed",
                "vanished" => "is missing",
                _ => "is installed again",
            };
            (format!("The snippet of {host} {change}."), screen("install"))
        }
        EventKind::AllowanceReached => {
            let allowance = &data["allowance"];
            let (used, included) = (&allowance["contacts_used"], &allowance["contacts_included"]);
            let percent = &data["percent"];
            (
                format!("{percent}% of the monthly contacts are used: {used} of {included}."),
                Some("/console/account".to_owned()),
            )
        }
        EventKind::ErasureRequested => {
            let request = &data["request"];
            let due = short(text(&request["due_at"]), 10);
            let path = format!("requests/{}", text(&request["request_id"]));
            (format!("A visitor of {host} asks to be erased. Answer by {due}."), screen(&path))
        }
        EventKind::SilenceBroken | EventKind::SilenceRestored => {
            let path = format!("watch/{}", text(&data["report"]["report_id"]));
            (silence(kind, host), screen(&path))
        }
    }
}

fn silence(kind: EventKind, host: &str) -> String {
    let found = match kind {
        EventKind::SilenceRestored => "loads and stores nothing without consent any more.",
        _ => "loads or stores something without consent. The report names it.",
    };
    format!("{host} {found}")
}

fn of_person(data: &Value) -> String {
    match data["contact"]["hem"].as_str() {
        Some(hem) => format!("contacts/find?hem={hem}"),
        None => "contacts".to_owned(),
    }
}

/// The full name, composed of first and last name if `name` is empty.
fn name_of(person: &Value) -> String {
    let part = |field: &str| short(text(&person[field]).trim(), LONGEST_FIELD);
    let whole = part("name");
    match whole.is_empty() {
        true => [part("first_name"), part("last_name")].join(" ").trim().to_owned(),
        false => whole,
    }
}

fn contact(what: &str, host: &str, data: &Value) -> String {
    let (id, person) = (&data["contact"]["id"], &data["contact"]["contact"]);
    let fields = FIELDS.iter().filter_map(|&name| person[name].as_str());
    let fields = fields.map(|field| short(field.trim(), LONGEST_FIELD));
    let fields = [name_of(person)].into_iter().chain(fields);
    let fields = fields.filter(|field| !field.is_empty()).collect::<Vec<_>>();
    match fields.is_empty() {
        true => format!("{what} on {host}, number {id}."),
        false => format!("{what} on {host}, number {id}: {}", fields.join(", ")),
    }
}

fn choice(host: &str, receipt: &Value) -> String {
    let purposes = receipt["purposes"].as_array().into_iter().flatten();
    let purposes = purposes.filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    match text(&receipt["consent_state"]) {
        "accepted" => format!("A visitor of {host} accepted: {purposes}."),
        "declined" => format!("A visitor of {host} declined."),
        _ => format!("A visitor of {host} withdrew."),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(text: &str, longest: usize) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(longest).collect()
}

fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn escape_discord(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\*_~`|>#[]()<:@-".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_contact(person: Value) -> Value {
        let contact = json!({"id": 7, "contact": person});
        json!({"pixel_id": "p1", "domain": "shop.example", "contact": contact})
    }

    #[test]
    fn a_person_calls_nobody_and_formats_nothing() {
        let data = new_contact(json!({
            "name": "<!channel> @everyone *Ann*\n[x](https://evil.example)",
            "email": "ann@example.com",
            "note": "secret",
        }));
        let base = "https://assent.example";
        let slack = message(Format::Slack, Some(EventKind::ContactCreated), &data, base);
        assert_eq!(
            slack,
            json!({"text": "New contact on shop.example, number 7: &lt;!channel&gt; @everyone *Ann* \
                [x](https://evil.example), ann@example.com\n\
                <https://assent.example/console/sites/p1/contacts|Open in the console>"})
        );
        let discord = message(Format::Discord, Some(EventKind::ContactCreated), &data, base);
        assert_eq!(discord["allowed_mentions"], json!({"parse": []}));
        let content = discord["content"].as_str().unwrap();
        assert!(content.contains(r"\<!channel\> \@everyone \*Ann\* \[x\]\(https\:"), "{content}");
        assert!(content.ends_with("(<https://assent.example/console/sites/p1/contacts>)"));
    }

    #[test]
    fn a_person_has_one_name_and_the_link_leads_to_the_person() {
        let mut data = new_contact(json!({"first_name": "Anna", "last_name": "Smith"}));
        data["contact"]["hem"] = json!("ab12");
        let slack = message(
            Format::Slack,
            Some(EventKind::ContactCreated),
            &data,
            "https://assent.example",
        );
        assert_eq!(
            slack,
            json!({"text": "New contact on shop.example, number 7: Anna Smith\n\
                <https://assent.example/console/sites/p1/contacts/find?hem=ab12|Open in the console>"})
        );
    }

    #[test]
    fn every_event_is_described_with_a_link_and_only_a_test_is_called_one() {
        let data =
            json!({"pixel_id": "p1", "domain": "shop.example", "report": {"report_id": "r1"}});
        let slack = |kind| {
            let message = message(Format::Slack, kind, &data, "https://assent.example");
            message["text"].as_str().unwrap().to_owned()
        };
        for &kind in EventKind::ALL {
            let text = slack(Some(kind));
            assert!(!text.contains("test") && text.contains("|Open in the console>"), "{text}");
        }
        assert!(slack(None).contains("This is a test"));
        let broken = slack(Some(EventKind::SilenceBroken));
        assert!(broken.starts_with("shop.example loads or stores something without consent."));
        assert!(broken.contains("/console/sites/p1/watch/r1|"), "{broken}");
    }

    #[test]
    fn a_message_is_never_too_long_for_a_chat() {
        let long = "*".repeat(100_000);
        let names = ["name", "email", "company", "title"];
        let names = names.iter().map(|&name| (name.to_owned(), json!(long)));
        let data = new_contact(Value::Object(names.collect()));
        let discord =
            message(Format::Discord, Some(EventKind::ContactCreated), &data, "https://a.example");
        let content = discord["content"].as_str().unwrap().chars().count();
        assert!(content <= 2_000, "{content}");
    }
}
