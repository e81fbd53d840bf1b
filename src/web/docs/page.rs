use serde::Serialize;
use serde_json::Value;

use super::event::Events;
use super::operation::Operation;
use super::prose::{Prose, prose};
use super::schema::NamedSchema;

/// The groups in the order of their use; others follow.
const GROUPS: [&str; 13] = [
    "Accounts", "Pixels", "Consent", "Watch", "Visitors", "Scripts", "Log", "Contacts", "Webhooks",
    "Billing", "Agents", "Pages", "Service",
];
/// The first routes of a group, in this order; the rest follows by path.
const FIRST: [&str; 10] = [
    "create_account",
    "confirm_by_code",
    "issue_api_key",
    "whoami",
    "create_pixel",
    "check_install",
    "configure_consent",
    "record_consent",
    "check_consent",
    "store_contacts",
];
/// Paths that integrators do not need; they are listed last.
const FOR_CRAWLERS: [&str; 2] = ["/.well-known/", "/robots.txt"];

#[derive(Debug, Serialize)]
pub struct Group {
    pub name: String,
    pub description: Vec<Prose>,
    pub operations: Vec<Operation>,
}

#[derive(Debug, Serialize)]
pub struct DocsPage {
    pub version: String,
    pub description: Vec<Vec<Prose>>,
    pub credentials: Vec<Credential>,
    pub groups: Vec<Group>,
    pub events: Events,
    pub schemas: Vec<NamedSchema>,
}

#[derive(Debug, Serialize)]
pub struct Credential {
    pub id: String,
    pub description: Vec<Prose>,
}

impl DocsPage {
    pub fn of(document: &Value) -> Self {
        let text = document["info"]["description"].as_str().unwrap_or_default();
        let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
        let credentials =
            document["components"]["securitySchemes"].as_object().into_iter().flatten();
        Self {
            version: document["info"]["version"].as_str().unwrap_or_default().to_owned(),
            description: text.split("\n\n").map(|part| prose(&Value::from(part))).collect(),
            credentials: credentials
                .map(|(id, scheme)| Credential {
                    id: id.clone(),
                    description: prose(&scheme["description"]),
                })
                .collect(),
            groups: groups(document),
            events: Events::of(document),
            schemas: schemas.map(|(name, schema)| NamedSchema::of(name, schema)).collect(),
        }
    }
}

fn groups(document: &Value) -> Vec<Group> {
    let group = |tag: &Value| Group {
        name: tag["name"].as_str().unwrap_or_default().to_owned(),
        description: prose(&tag["description"]),
        operations: operations(document, &tag["name"]),
    };
    let tags = document["tags"].as_array().into_iter().flatten();
    let mut groups =
        tags.map(group).filter(|group| !group.operations.is_empty()).collect::<Vec<_>>();
    groups.sort_by_key(|group| index_in(&GROUPS, &group.name));
    groups
}

/// Unknown names come last.
fn index_in(list: &[&str], name: &str) -> usize {
    list.iter().position(|listed| *listed == name).unwrap_or(list.len())
}

fn operations(document: &Value, tag: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut operations = paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path, method, operation))
        })
        .filter(|(_, _, operation)| operation["tags"][0] == *tag)
        .map(|(path, method, operation)| Operation::of(document, path, method, operation))
        .collect::<Vec<_>>();
    operations.sort_by_key(|operation| {
        let is_for_crawlers = FOR_CRAWLERS.iter().any(|path| operation.path.starts_with(path));
        (is_for_crawlers, index_in(&FIRST, &operation.id))
    });
    operations
}
