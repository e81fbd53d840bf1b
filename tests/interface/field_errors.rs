//! Refusals of bodies and arguments of a wrong shape use the words of the interface.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::support::tools::call;
use crate::support::{Account, Answer, App};

/// Words of the program's language and of its parsers that no caller has use for.
const NOT_OURS: [&str; 30] = [
    " struct",
    "struct ",
    "i32",
    "i64",
    "u8",
    "u32",
    "u64",
    "usize",
    "f64",
    "expected",
    "invalid type",
    "invalid value",
    "invalid length",
    "missing field",
    "unknown field",
    "unknown variant",
    "serde",
    "sequence",
    "newtype",
    "borrowed",
    "untagged",
    "Option",
    "Vec<",
    "floating point",
    "a map",
    "EOF",
    "trailing",
    "recursion",
    "unit value",
    "panicked",
];

fn values() -> Vec<Value> {
    vec![
        json!(7),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!("ä"),
        json!(true),
        json!(null),
        json!([]),
        json!([7]),
        json!([null]),
        json!([{"a": 1}]),
        json!({}),
        json!({"a": {"b": [1]}}),
    ]
}

#[track_caller]
fn is_in_our_words(text: &str, sent: &Value) {
    // The id of the request is random.
    let parts = text.split("request_id").enumerate();
    let text =
        parts.map(|(index, part)| if index == 0 { part } else { part.get(28..).unwrap_or("") });
    let text = text.collect::<String>();
    for word in NOT_OURS {
        assert!(!text.contains(word), "{word:?} in {text}\nsent: {sent}");
    }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = schema["oneOf"]
        .as_array()
        .and_then(|parts| parts.iter().find(|part| part["$ref"].is_string()))
        .unwrap_or(schema);
    let link = schema["$ref"].as_str().and_then(|link| document.pointer(&link[1..]));
    link.unwrap_or(schema)
}

/// The pointers to all fields of a schema, those of its objects and of its lists' items included.
fn pointers(document: &Value, schema: &Value, above: &str, depth: usize) -> Vec<String> {
    let schema = resolved(document, schema);
    if depth == 0 {
        return Vec::new();
    }
    if schema["items"].is_object() {
        return pointers(document, &schema["items"], &format!("{above}/0"), depth - 1);
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .flat_map(|(name, field)| {
            let pointer = format!("{above}/{name}");
            let below = pointers(document, field, &pointer, depth - 1);
            std::iter::once(pointer).chain(below)
        })
        .collect()
}

/// Puts a value where the pointer says, making what is missing on the way.
fn put(body: &mut Value, pointer: &str, value: &Value) {
    let mut here = body;
    for step in pointer.split('/').skip(1) {
        here = match step {
            "0" => {
                if here.as_array().is_none_or(Vec::is_empty) {
                    *here = json!([{}]);
                }
                &mut here[0]
            }
            _ => {
                if !here.is_object() {
                    *here = json!({});
                }
                &mut here[step]
            }
        };
    }
    *here = value.clone();
}

/// An account that may do everything, its pixel, and the values of the paths' parameters.
pub async fn app_with_operator() -> (App, Account, String) {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    let pixel = app.consent_site(&operator.key, "shop.example").await.pixel_id;
    (app, operator, pixel)
}

#[tokio::test]
async fn no_body_of_a_wrong_shape_is_answered_in_the_words_of_the_program() {
    let (app, operator, pixel) = app_with_operator().await;
    let document = app.get("/openapi.json").await.expect(200);
    let mut bodies = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            if content.is_null() || path.starts_with("/mcp") {
                continue;
            }
            bodies += 1;
            let path =
                path.replace("{pixel_id}", &pixel).replace("{account_id}", &operator.account_id);
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let send = async |body: Value| {
                let answer = app.call(method.clone(), &path, &operator.key, body.clone()).await;
                is_a_good_refusal(&answer, &body);
            };
            for value in values() {
                for pointer in pointers(&document, &content["schema"], "", 5) {
                    let mut body = content["example"].clone();
                    put(&mut body, &pointer, &value);
                    send(body).await;
                }
                if !value.is_null() && !value.is_object() {
                    send(value).await;
                }
            }
            for text in [
                "",
                "{",
                "{\"a\":1,\"a\":2}",
                "{\"a\":\"\\u0000\"}",
                "{} {}",
                "\u{fffd}",
                "{\"a\":01}",
                "nul",
            ] {
                let request = app.request(method.clone(), &path).bearer_auth(&operator.key);
                is_a_good_refusal(&Answer::of(request.body(text)).await, &json!(text));
            }
        }
    }
    assert!(bodies > 10, "{bodies}");
}

/// A refusal for a body's shape names the field, and does not contain messages of the program.
#[track_caller]
fn is_a_good_refusal(answer: &Answer, sent: &Value) {
    assert!(answer.status < 500, "{}\nsent: {sent}", answer.text);
    if answer.status < 400 {
        return;
    }
    is_in_our_words(&answer.text, sent);
    let problem = answer.json();
    let named = match &problem["detail"] {
        Value::Array(detail) => detail,
        Value::String(sentence) if sentence == "invalid request" => {
            problem["errors"].as_array().unwrap_or_else(|| panic!("{problem}\nsent: {sent}"))
        }
        _ => return,
    };
    assert!(!named.is_empty());
    for field in named {
        assert_eq!(field["loc"][0], "body", "{problem}");
        let keys = field.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(keys, ["loc", "msg", "type"]);
    }
}

#[tokio::test]
async fn no_parameter_of_a_wrong_kind_is_answered_in_the_words_of_the_program() {
    let (app, operator, pixel) = app_with_operator().await;
    let document = app.get("/openapi.json").await.expect(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
                let path = path
                    .replace("{pixel_id}", &pixel)
                    .replace("{pixel}", &pixel)
                    .replace("{account_id}", &operator.account_id);
                for value in ["x", "-1", "1.5", "2026-13-01", "%00", "99999999999999999999"] {
                    let url = format!("{path}?{}={value}", parameter["name"].as_str().unwrap());
                    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                    let answer = app.call(method, &url, &operator.key, Value::Null).await;
                    if answer.status >= 400 {
                        is_in_our_words(&answer.text, &json!(url));
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn no_argument_of_a_wrong_shape_is_answered_in_the_words_of_the_program() {
    let (app, operator, pixel) = app_with_operator().await;
    for tool in crate::support::tools::list(&app, "/mcp/x/all", None).await {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let mut arguments = Map::new();
        if fields.contains_key("api_key") {
            arguments.insert("api_key".to_owned(), json!(operator.key));
        }
        if fields.contains_key("pixel_id") {
            arguments.insert("pixel_id".to_owned(), json!(pixel));
        }
        for field in
            fields.keys().filter(|field| !["api_key", "signup_token"].contains(&field.as_str()))
        {
            for value in values() {
                let mut arguments = arguments.clone();
                arguments.insert(field.clone(), value);
                let arguments = Value::Object(arguments);
                let result = call(&app, name, arguments.clone()).await;
                if result["isError"] == true {
                    let text = result["content"][0]["text"].as_str().unwrap();
                    is_in_our_words(text, &json!([name, arguments]));
                    assert!(text != "invalid request", "{name} {arguments}: {result}");
                }
            }
        }
    }
}
