//! The examples of the description: requests and responses of a test (`tests/interface/documentation/examples.rs`).

use serde::Deserialize;
use serde_json::{Map, Value};

const EXAMPLES: &str = include_str!("examples.json");

#[derive(Deserialize)]
struct Example {
    /// Method and path as described.
    call: String,
    #[serde(default)]
    path: Map<String, Value>,
    #[serde(default)]
    query: Map<String, Value>,
    body: Option<Value>,
    status: u16,
    answer: Option<Value>,
}

/// Inserts the examples. If several belong to one operation, the first is used.
pub fn fill_in(document: &mut Value) {
    let examples = serde_json::from_str::<Vec<Example>>(EXAMPLES);
    for example in examples.expect("the examples are well-formed") {
        let Some((method, path)) = example.call.split_once(' ') else { continue };
        let item = document["paths"].get_mut(path);
        if let Some(operation) = item.and_then(|item| item.get_mut(method.to_lowercase())) {
            example.fill(operation);
        }
    }
}

impl Example {
    fn fill(self, operation: &mut Value) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default();
            let given = self.path.get(name).or_else(|| self.query.get(name)).cloned();
            show(parameter, given);
        }
        let mut bodies = ["application~1json", "text~1csv"].into_iter();
        let pointer = bodies.find_map(|kind| {
            let pointer = format!("/requestBody/content/{kind}");
            operation.pointer(&pointer).is_some().then_some(pointer)
        });
        if let Some(body) = pointer.and_then(|pointer| operation.pointer_mut(&pointer)) {
            show(body, self.body);
        }
        let pointer = format!("/responses/{}/content/application~1json", self.status);
        if let Some(answer) = operation.pointer_mut(&pointer) {
            show(answer, self.answer);
        }
    }
}

fn show(holder: &mut Value, example: Option<Value>) {
    if let (Some(holder), Some(example)) = (holder.as_object_mut(), example) {
        holder.entry("example").or_insert(example);
    }
}
