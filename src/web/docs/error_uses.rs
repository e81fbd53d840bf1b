use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The operations that answer with each error code.
pub struct ErrorUses(BTreeMap<String, ErrorUse>);

#[derive(Default)]
pub struct ErrorUse {
    /// Statuses and sentences.
    pub answers: BTreeSet<(u64, String)>,
    /// Method and path.
    pub operations: BTreeSet<String>,
}

impl ErrorUses {
    pub fn of(document: &Value) -> Self {
        let mut uses = BTreeMap::<String, ErrorUse>::new();
        let paths = document["paths"].as_object().into_iter().flatten();
        for (path, item) in paths {
            for (method, operation) in item.as_object().into_iter().flatten() {
                for problem in problems(operation) {
                    let Some(code) = problem["code"].as_str() else { continue };
                    let used = uses.entry(code.to_owned()).or_default();
                    let sentence = problem["detail"].as_str().unwrap_or("a list of what is wrong");
                    let status = problem["status"].as_u64().unwrap_or_default();
                    used.answers.insert((status, sentence.to_owned()));
                    used.operations.insert(format!("{} {path}", method.to_uppercase()));
                }
            }
        }
        Self(uses)
    }

    pub fn of_code(&self, code: &str) -> Option<&ErrorUse> {
        self.0.get(code)
    }
}

fn problems(operation: &Value) -> impl Iterator<Item = &Value> {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let examples = responses.filter_map(|(_, response)| {
        response.pointer("/content/application~1problem+json/examples")?.as_object()
    });
    examples.flat_map(|examples| examples.values().map(|example| &example["value"]))
}
