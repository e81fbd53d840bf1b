//! The whole description as the page shows it.

use serde::Serialize;
use serde_json::Value;

use super::operation::Operation;
use super::schema::NamedSchema;

/// A run of text, or of code.
#[derive(Debug, Serialize)]
pub struct Prose {
    pub text: String,
    pub is_code: bool,
}

/// A description's Markdown, of which only code spans mean something here.
pub fn prose(text: &Value) -> Vec<Prose> {
    let pieces = text.as_str().unwrap_or_default().split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(place, piece)| Prose { text: piece.to_owned(), is_code: place % 2 == 1 })
        .collect()
}

/// Routes that belong together.
#[derive(Debug, Serialize)]
pub struct Group {
    pub name: String,
    pub description: Vec<Prose>,
    pub operations: Vec<Operation>,
}

/// All that the template needs.
#[derive(Debug, Serialize)]
pub struct DocsPage {
    pub version: String,
    /// Paragraphs.
    pub description: Vec<Vec<Prose>>,
    pub credentials: Vec<Credential>,
    pub groups: Vec<Group>,
    pub schemas: Vec<NamedSchema>,
}

/// A way to prove who calls.
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
    tags.map(group).filter(|group| !group.operations.is_empty()).collect()
}

fn operations(document: &Value, tag: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path, method, operation))
        })
        .filter(|(_, _, operation)| operation["tags"][0] == *tag)
        .map(|(path, method, operation)| Operation::of(document, path, method, operation))
        .collect()
}
