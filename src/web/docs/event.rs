use serde::Serialize;
use serde_json::Value;

use super::operation::{Operation, Parameter};
use super::prose::Prose;
use super::schema::{Kind, NamedSchema};

#[derive(Debug, Serialize)]
pub struct Event {
    /// Its name in the document, and its anchor.
    pub id: String,
    pub name: String,
    pub summary: String,
    pub description: Vec<Prose>,
    pub kind: Kind,
    pub data: NamedSchema,
    pub example: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Events {
    pub headers: Vec<Parameter>,
    pub kinds: Vec<Event>,
}

impl Events {
    pub fn of(document: &Value) -> Self {
        let all = document["webhooks"].as_object().into_iter().flatten();
        let documented = all.filter_map(|(name, item)| {
            let documented = Operation::of(document, name, "post", &item["post"]);
            Some((
                name,
                documented.body?,
                documented.parameters,
                (documented.id, documented.summary, documented.description),
            ))
        });
        let (mut headers, mut kinds) = (Vec::new(), Vec::new());
        for (name, body, parameters, (id, summary, description)) in documented {
            headers = parameters;
            let data = body.fields.into_iter().find(|field| field.name == "data");
            let data = data.and_then(|field| field.kind.link).unwrap_or_default();
            let schema = &document["components"]["schemas"][&data];
            kinds.push(Event {
                data: NamedSchema::of(&data, schema),
                name: name.clone(),
                kind: body.kind,
                example: body.example,
                id,
                summary,
                description,
            });
        }
        Self { headers, kinds }
    }
}
