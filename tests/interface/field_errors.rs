//! What is wrong with a body or an argument, and where: named, in the words of the interface.

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
fn places(document: &Value, schema: &Value, above: &str, depth: usize) -> Vec<String> {
    let schema = resolved(document, schema);
    if depth == 0 {
        return Vec::new();
    }
    if schema["items"].is_object() {
        return places(document, &schema["items"], &format!("{above}/0"), depth - 1);
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .flat_map(|(name, field)| {
            let place = format!("{above}/{name}");
            let below = places(document, field, &place, depth - 1);
            std::iter::once(place).chain(below)
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
async fn app_with_operator() -> (App, Account, String) {
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
            if content.is_null() || path == "/mcp" {
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
                for place in places(&document, &content["schema"], "", 5) {
                    let mut body = content["example"].clone();
                    put(&mut body, &place, &value);
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

/// Whoever is refused for a body's shape learns where; nobody reads the program's words.
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
    let list = crate::support::tools::message("tools/list", json!({}));
    let tools = Answer::of(crate::support::tools::post(&app).json(&list)).await.expect(200);
    for tool in tools["result"]["tools"].as_array().unwrap() {
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

#[track_caller]
fn names(problem: &Value, expected: &Value) {
    assert_eq!(&problem["errors"], expected, "{problem}");
}

#[tokio::test]
async fn an_invalid_request_names_the_field() {
    let (app, operator, pixel) = app_with_operator().await;
    let consent = format!("/v1/pixels/{pixel}/consent");
    let contacts = format!("/v1/pixels/{pixel}/contacts");
    let palette = json!({"background": "#ffffff", "text": "#000000"});
    let hem = "ab".repeat(32);
    let good = json!({"hem": hem, "contact": {"a": 1}});
    for (path, body, detail, loc, msg) in [
        (
            "/v1/accounts",
            json!({"email": 7, "display_name": "Ann"}),
            "invalid request",
            json!(["body", "email"]),
            "must be a string",
        ),
        (
            "/v1/accounts",
            json!({"email": "a@b.example", "display_name": "Ann", "code": "x".repeat(65)}),
            "invalid request",
            json!(["body", "code"]),
            "must have at most 64 characters",
        ),
        ("/v1/accounts", json!([]), "invalid request", json!(["body"]), "must be a JSON object"),
        (
            "/v1/consent/verify",
            json!({"receipt": "text"}),
            "invalid request",
            json!(["body", "receipt"]),
            "must be an object",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "data_sharing": "yes"}),
            "invalid request",
            json!(["body", "data_sharing"]),
            "must be true or false",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": "analytics"}),
            "invalid request",
            json!(["body", "purposes"]),
            "must be a list",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"colors": {"light": palette}}}),
            "invalid request",
            json!(["body", "appearance", "colors", "light", "button"]),
            "field required",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"color": {}}}),
            "invalid request",
            json!(["body", "appearance", "color"]),
            "no such field, there is one of `position`, `colors`, `radius`, `font`, `button`",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"position": "left"}}),
            "invalid request",
            json!(["body", "appearance", "position"]),
            "must be one of `bottom`, `bottom-left`, `bottom-right`, `top`, `center`",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"radius": 25}}),
            "invalid request",
            json!(["body", "appearance", "radius"]),
            "must be at most 24",
        ),
        (
            &*contacts,
            json!({"contacts": {}}),
            "invalid request",
            json!(["body", "contacts"]),
            "must be a list",
        ),
        (&*contacts, json!({}), "invalid request", json!(["body", "contacts"]), "field required"),
        (
            &*contacts,
            json!({"contacts": [good, {"hem": 7, "contact": {"a": 1}}]}),
            "invalid request",
            json!(["body", "contacts", "1", "hem"]),
            "must be a string",
        ),
        (
            &*contacts,
            json!({"contacts": [good, good, {"hem": "x", "contact": {"a": 1}}]}),
            "hem must be a 64-character hex string",
            json!(["body", "contacts", "2", "hem"]),
            "hem must be a 64-character hex string",
        ),
        (
            &*contacts,
            json!({"contacts": [good, 7]}),
            "contact entry must be an object",
            json!(["body", "contacts", "1"]),
            "must be an object",
        ),
    ] {
        let answer = app.call(Method::POST, path, &operator.key, body.clone()).await;
        answer.refused(400, detail);
        let errors = answer.json()["errors"].clone();
        assert_eq!((&errors[0]["loc"], &errors[0]["msg"]), (&loc, &json!(msg)), "{path} {body}");
    }
}

#[tokio::test]
async fn a_misspelt_field_is_named_beside_the_refusal_that_it_causes() {
    let (app, operator, pixel) = app_with_operator().await;
    let error = |loc: &[&str], meant: &str| {
        let msg = format!("no such field, did you mean `{meant}`?");
        json!([{"loc": loc, "msg": msg, "type": "unknown_field"}])
    };
    let body = json!({"email": "ann@shop.example", "displayName": "Ann"});
    let answer = app.post("/v1/accounts", body).await;
    answer.refused(400, "display name is required");
    names(&answer.json(), &error(&["body", "displayName"], "display_name"));

    let body = json!({"domian": "other.example"});
    let answer = app.call(Method::POST, "/v1/pixels", &operator.key, body).await;
    answer.refused(400, "domain is required");
    names(&answer.json(), &error(&["body", "domian"], "domain"));

    let path = format!("/v1/pixels/{pixel}/contacts");
    let body = json!({"contacts": [{"hm": "ab".repeat(32), "contact": {"a": 1}}]});
    let answer = app.call(Method::POST, &path, &operator.key, body).await;
    answer.refused(400, "hem must be a 64-character hex string");
    let errors = answer.json()["errors"].clone();
    assert_eq!(errors[1]["loc"], json!(["body", "contacts", "0", "hm"]), "{errors}");

    let path = format!("/v1/accounts/{}/confirm", operator.account_id);
    let answer = app.post(&path, json!({"kode": "123456"})).await;
    answer.invalid(&["body", "code"]);
    answer.invalid(&["body", "kode"]);

    // What nobody reads harms nobody, and is no refusal.
    let body = json!({"domain": "third.example", "metod": "x", "colour": "blue"});
    app.call(Method::POST, "/v1/pixels", &operator.key, body).await.expect(201);
}

#[tokio::test]
async fn a_tool_names_the_argument_too() {
    let (app, operator, pixel) = app_with_operator().await;
    let consent = json!({
        "pixel_id": pixel, "api_key": operator.key, "controller_name": "Ann", "purposes": "resolution",
    });
    let result = call(&app, "configure_consent", consent).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "invalid request (purposes: must be a list)");
    let problem: Value =
        serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(problem["detail"], "invalid request");
    let expected =
        json!([{"loc": ["arguments", "purposes"], "msg": "must be a list", "type": "type_error"}]);
    names(&problem, &expected);
    let misspelt = json!({"domian": "a.example", "api_key": operator.key});
    let result = call(&app, "create_pixel", misspelt).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("did you mean `domain`?"), "{text}");
}

#[tokio::test]
async fn a_401_says_what_it_asks_for() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let challenge = async |path: &str, headers: &[(&str, &str)]| {
        let request = app.request(Method::GET, path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 401, "{path}");
        answer.header("www-authenticate").map(str::to_owned)
    };
    let bearer = Some(r#"Bearer realm="assent""#.to_owned());
    let refused = Some(r#"Bearer realm="assent", error="invalid_token""#.to_owned());
    assert_eq!(challenge("/v1/whoami", &[]).await, bearer);
    assert_eq!(challenge("/v1/pixels", &[]).await, bearer);
    assert_eq!(challenge("/v1/whoami", &[("Authorization", "Basic YTpi")]).await, bearer);
    assert_eq!(challenge("/v1/whoami", &[("Authorization", "Bearer px_nobodys")]).await, refused);
    assert_eq!(challenge("/v1/whoami", &[("X-API-Key", "px_nobodys")]).await, refused);
    let account = format!("/v1/accounts/{}", ann.account_id);
    let token = Some(r#"SignupToken realm="assent""#.to_owned());
    assert_eq!(challenge(&account, &[]).await, token);
    let refused = Some(r#"SignupToken realm="assent", error="invalid_token""#.to_owned());
    assert_eq!(challenge(&account, &[("x-signup-token", "st_nobodys")]).await, refused);
    let neither = Answer::of(app.request(Method::POST, "/v1/api-keys")).await;
    let both = r#"Bearer realm="assent", SignupToken realm="assent""#;
    assert_eq!(neither.header("www-authenticate"), Some(both));
    assert_eq!(app.get("/nowhere").await.header("www-authenticate"), None);
}
