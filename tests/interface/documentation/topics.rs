//! The documents for language models: small, complete, true, and the same everywhere.

use std::collections::BTreeSet;

use assent::error::codes::CODES;
use assent::guide::topics::TOPICS;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::tools::{message, post};
use crate::support::{Answer, App};

/// Characters of 2,000 and 8,000 tokens.
const OF_A_TOPIC: usize = 8_000;
const OF_A_TASK: usize = 32_000;

async fn markdown(app: &App, path: &str) -> String {
    let answer = app.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    assert_eq!(answer.header("content-type"), Some("text/markdown; charset=utf-8"), "{path}");
    answer.text
}

#[tokio::test]
async fn every_topic_is_short_linked_and_a_resource() {
    let app = App::spawn().await;
    let list = app.get("/llms.txt").await.text;
    let full = app.get("/llms-full.txt").await.text;
    let resources = Answer::of(post(&app).json(&message("resources/list", json!({})))).await;
    let resources = resources.expect(200)["result"]["resources"].clone();
    for topic in &TOPICS {
        let path = format!("/docs/{}.md", topic.slug);
        let text = markdown(&app, &path).await;
        assert!(text.len() < OF_A_TOPIC, "{path} has {} characters", text.len());
        assert!(!text.contains("{{") && !text.contains("consent.example.com"), "{path}");
        assert!(list.contains(&format!("({})", app.url(&path))), "{path} is not in llms.txt");
        assert!(full.contains(&text), "{path} is not in llms-full.txt");
        let uri = json!(app.url(&path));
        assert!(resources.as_array().unwrap().iter().any(|known| known["uri"] == uri), "{path}");
        let read =
            Answer::of(post(&app).json(&message("resources/read", json!({"uri": uri})))).await;
        assert_eq!(read.expect(200)["result"]["contents"][0]["text"], json!(text));
        let page = app.get(&format!("/docs/{}", topic.slug)).await;
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.text.contains("<article class=\"manual\">"), "{path}");
    }
    for (path, kind) in
        [("/llms-full.txt", "text/plain"), ("/openapi.json?tag=Log", "application/json")]
    {
        let read = message("resources/read", json!({"uri": app.url(path)}));
        let read = Answer::of(post(&app).json(&read)).await.expect(200);
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["mimeType"], kind, "{path}");
        assert_eq!(contents["text"], json!(app.get(path).await.text), "{path}");
    }
    app.get("/docs/nothing.md").await.refused(404, "not found");
    app.get("/docs/nothing").await.refused(404, "not found");
    assert!(markdown(&app, "/SKILL.md").await.starts_with("---\nname: assent\n"));
}

#[tokio::test]
async fn the_package_of_the_readers_ecosystem_is_named_first() {
    let app = App::spawn().await;
    let list = app.get("/llms.txt").await.text;
    let link = list.find("](").expect("links");
    assert!(list[link..].starts_with(&format!("]({})", app.url("/docs/packages.md"))), "{list}");
    let guide = app.get("/guide.md").await.text;
    let heading = guide.find("\n## ").expect("headings");
    assert!(guide[heading..].starts_with("\n## Is there a package for your site?\n"), "{guide}");
    let packages = markdown(&app, "/docs/packages.md").await;
    for name in ["WordPress", "React", "Next", "Vue", "Nuxt", "Svelte", "Astro", "Python", "PHP"] {
        assert!(packages.contains(&format!("\n## {name}\n")), "{name}: {packages}");
        assert!(guide[heading..heading + 1_200].contains(name), "{name}: {guide}");
        assert!(list.lines().any(|line| line.contains("packages.md") && line.contains(name)));
    }
    assert!(packages.contains(&format!("{}/px/PIXEL_ID.js", app.base)), "{packages}");
    assert!(packages.contains("only if they say that it is theirs"), "{packages}");
}

#[tokio::test]
async fn every_public_page_is_also_markdown() {
    let app = App::spawn().await;
    let sitemap = app.get("/sitemap.xml").await.text;
    let pages = sitemap.split("<loc>").skip(1).map(|part| part.split('<').next().unwrap());
    let pages = pages.map(|page| page.strip_prefix(&app.base).unwrap().to_owned());
    let more = ["/guide/tag", "/guide/webhooks", "/docs/reference", "/log", "/demo"];
    let more = more.into_iter().chain(["/docs/errors/busy"]);
    let all = pages.chain(more.map(str::to_owned)).collect::<BTreeSet<_>>();
    assert!(all.len() > 20, "{all:?}");
    for path in all {
        let ask =
            |accept: &str| Answer::of(app.request(Method::GET, &path).header("Accept", accept));
        let by_address = if path == "/" { "/index.md".to_owned() } else { format!("{path}.md") };
        let by_address = markdown(&app, &by_address).await;
        let page = ask("text/html").await;
        let text = ask("text/markdown, text/html;q=0.9").await;
        assert_eq!((page.status, text.status), (200, 200), "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"), "{path}");
        for answer in [&page, &text] {
            let varies = answer
                .headers
                .get_all("vary")
                .iter()
                .any(|names| names.to_str().unwrap().split(", ").any(|name| name == "Accept"));
            assert!(varies, "{path}: {:?}", answer.headers);
        }
        if path != "/status" && !path.starts_with("/demo") {
            assert_eq!(by_address, text.text, "{path}");
        }
        let index = app.url("/llms.txt");
        let (title, _) = text.text.split_once(&index).unwrap_or_else(|| panic!("{path}"));
        assert!(title.lines().count() <= 4, "{path}: {title}");
        let (above, _) = page.text.split_once("<a href=\"/llms.txt\">").expect("the index");
        assert!(!above.contains("<main"), "{path}");
        let has_title = text.text.starts_with('#') || text.text.contains("\n# ");
        assert!(has_title && text.text.len() > 40, "{path}: {}", text.text);
        for element in ["</p>", "</div>", "</li>", "</a>", "<main"] {
            assert!(!text.text.contains(element), "{path}: {}", text.text);
        }
        let preferred = ask("text/html, text/markdown;q=0.5").await;
        assert_eq!(preferred.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    }
}

#[tokio::test]
async fn the_list_of_documents_names_every_page_that_search_engines_list() {
    let app = App::spawn().await;
    let list = app.get("/llms.txt").await.text;
    let sitemap = app.get("/sitemap.xml").await.text;
    for page in sitemap.split("<loc>").skip(1).map(|part| part.split('<').next().unwrap()) {
        let page = if page == app.url("/") { app.url("/index") } else { page.to_owned() };
        assert!(list.contains(&format!("({page}.md)")), "{page}");
    }
    for missing in ["/console.md", "/help/nothing.md", "/nothing.md", "/console/sign-in.md"] {
        app.get(missing).await.refused(404, "not found");
    }
}

#[tokio::test]
async fn every_code_of_an_error_has_a_page() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.text;
    let all = markdown(&app, "/docs/errors/codes.md").await;
    for code in CODES {
        let name = code.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(all.contains(&format!("/docs/errors/{name})")), "{name}");
        let text = markdown(&app, &format!("/docs/errors/{name}.md")).await;
        assert!(text.contains(code.advice), "{name}");
        let is_described = document.contains(&format!("\"code\":\"{name}\""));
        assert_eq!(text.contains("Answered by"), is_described, "{name}");
        assert_eq!(app.get(&format!("/docs/errors/{name}")).await.status, 200);
    }
    app.get("/docs/errors/nothing").await.refused(404, "not found");
    let not_found = app.get("/docs/errors/pixel_not_found.md").await.text;
    assert!(not_found.contains("| 404 | pixel not found |"), "{not_found}");
    assert!(not_found.contains("- `GET /v1/pixels/{pixel_id}`"), "{not_found}");
}

/// Routes that documents name in running text, such as `POST /v1/pixels/{pixel_id}/check`.
fn named_calls(text: &str) -> Vec<(String, String)> {
    let words =
        text.split(|character: char| character.is_whitespace() || "`,;()|".contains(character));
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let mut found = Vec::new();
    for (index, path) in words.iter().enumerate().filter(|(_, word)| word.starts_with("/v1/")) {
        let methods = words[..index].iter().rev();
        let methods =
            methods.take_while(|word| ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(word));
        let path = path.split('?').next().unwrap().trim_end_matches(['.', ':', '…', '"']);
        found.extend(methods.map(|method| (method.to_lowercase(), path.to_owned())));
    }
    found
}

#[tokio::test]
async fn documents_name_only_calls_that_exist() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let mut checked = 0;
    for path in TOPICS
        .iter()
        .map(|topic| format!("/docs/{}.md", topic.slug))
        .chain(["/SKILL.md".to_owned()])
    {
        for (method, call) in named_calls(&markdown(&app, &path).await) {
            let item = &document["paths"][&call];
            assert!(call.ends_with('*') || item[&method].is_object(), "{path}: {method} {call}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

/// A task of an agent, the documents that it reads, and the calls that it then needs.
type Task = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const TASKS: [Task; 10] = [
    (
        "install the tag",
        &["/guide.md"],
        &[
            ("post", "/v1/accounts"),
            ("post", "/v1/accounts/{account_id}/confirm"),
            ("post", "/v1/pixels"),
            ("post", "/v1/pixels/{pixel_id}/consent"),
            ("post", "/v1/pixels/{pixel_id}/check"),
        ],
    ),
    (
        "ask on a server whether a visitor permits something",
        &["/docs/front-end.md"],
        &[("get", "/v1/consent/check"), ("post", "/v1/consent/record")],
    ),
    (
        "keep a copy of contacts in step",
        &["/docs/contacts.md"],
        &[
            ("post", "/v1/pixels/{pixel_id}/contacts"),
            ("get", "/v1/pixels/{pixel_id}/contacts"),
            ("get", "/v1/pixels/{pixel_id}/contacts/withdrawn"),
        ],
    ),
    (
        "suppress people",
        &["/docs/contacts.md"],
        &[
            ("put", "/v1/suppressions/{hem}"),
            ("get", "/v1/suppressions"),
            ("post", "/v1/suppressions/import"),
            ("get", "/v1/suppressions/imports/{import_id}"),
        ],
    ),
    (
        "receive webhooks",
        &["/docs/webhooks.md"],
        &[
            ("post", "/v1/webhooks"),
            ("post", "/v1/webhooks/{endpoint_id}/test"),
            ("get", "/v1/webhooks/{endpoint_id}/deliveries"),
        ],
    ),
    (
        "send lost events again",
        &["/docs/webhooks.md"],
        &[
            ("patch", "/v1/webhooks/{endpoint_id}"),
            ("post", "/v1/webhooks/{endpoint_id}/deliveries/{event_id}/replay"),
            ("post", "/v1/webhooks/{endpoint_id}/replay"),
        ],
    ),
    (
        "answer a request for erasure",
        &["/docs/erasure.md"],
        &[
            ("get", "/v1/pixels/{pixel_id}/erasure-requests"),
            ("post", "/v1/pixels/{pixel_id}/erasure-requests/{request_id}/complete"),
            ("post", "/v1/pixels/{pixel_id}/erasure-requests/{request_id}/refuse"),
            ("delete", "/v1/pixels/{pixel_id}/visitors/{visitor_id}"),
        ],
    ),
    (
        "prove a choice",
        &["/docs/proof.md"],
        &[
            ("get", "/v1/consent/receipt"),
            ("post", "/v1/consent/verify"),
            ("get", "/v1/consent/proof"),
            ("post", "/v1/consent/proof/verify"),
        ],
    ),
    (
        "report on choices",
        &["/docs/proof.md"],
        &[
            ("get", "/v1/pixels/{pixel_id}/consent"),
            ("get", "/v1/pixels/{pixel_id}/consent/stats"),
            ("get", "/v1/pixels/{pixel_id}/consent/export"),
        ],
    ),
    (
        "give a program a key, and somebody access",
        &["/docs/account.md", "/docs/errors.md"],
        &[
            ("post", "/v1/api-keys"),
            ("delete", "/v1/api-keys/{prefix}"),
            ("post", "/v1/account/codes"),
            ("post", "/v1/account/members"),
            ("get", "/v1/whoami"),
        ],
    ),
];

/// Whether a text names a call with its method: the whole path, or the end of it after `…`.
fn names(text: &str, method: &str, path: &str) -> bool {
    let mut shown = String::new();
    for part in path.split('/').skip(1) {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        shown.push('/');
        shown.push_str(&name.map_or_else(|| part.to_owned(), str::to_uppercase));
    }
    let ends = path.match_indices('/').skip(3).map(|(offset, _)| format!("…{}", &path[offset..]));
    let mut forms = ends.chain([path.to_owned(), shown]);
    forms.any(|form| {
        text.match_indices(&*form).any(|(offset, _)| {
            let rest = &text[offset + form.len()..];
            !rest.starts_with(|next: char| next.is_alphanumeric() || "/-_{".contains(next))
                && method_at(text, offset) == method
        })
    })
}

/// The method of the call at an offset: the word before it, or that of the `curl` it stands in.
fn method_at(text: &str, offset: usize) -> String {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[start..offset];
    if !before.contains("curl ") {
        let before = before.trim_end_matches([' ', '`']);
        let word = before.rsplit(|character: char| !character.is_ascii_uppercase()).next();
        return word.unwrap_or_default().to_lowercase();
    }
    let mut command = String::new();
    for line in text[start..].lines() {
        command.push_str(line);
        if !line.ends_with('\\') {
            break;
        }
    }
    let named = command.split_once(" -X ").and_then(|(_, rest)| rest.split(' ').next());
    let sends = command.contains(" -d ") || command.contains(" --data");
    named.unwrap_or(if sends { "POST" } else { "GET" }).to_lowercase()
}

#[test]
fn a_call_is_named_by_its_method_and_its_whole_path() {
    let text = "Send `POST /v1/a/{id}/b` or `DELETE …/c`.\n\ncurl -sS /v1/d/ID -H \"x\" \\\n  -d '{}'\n\
        curl -sS \"/v1/d/ID/e?f=g\"\ncurl -X PUT /v1/h-i";
    for (method, path, is_named) in [
        ("post", "/v1/a/{id}/b", true),
        ("get", "/v1/a/{id}/b", false),
        ("post", "/v1/a/{id}", false),
        ("delete", "/v1/a/{id}/c", true),
        ("post", "/v1/d/{id}", true),
        ("get", "/v1/d/{id}", false),
        ("get", "/v1/d/{id}/e", true),
        ("put", "/v1/h-i", true),
        ("put", "/v1/h", false),
    ] {
        assert_eq!(names(text, method, path), is_named, "{method} {path}");
    }
}

#[tokio::test]
async fn a_small_context_suffices_for_ten_tasks() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let list = app.get("/llms.txt").await.text;
    for (task, read, calls) in TASKS {
        let mut text = list.clone();
        for path in read {
            assert!(list.contains(&app.url(path)), "{path} is not linked");
            text += &markdown(&app, path).await;
        }
        assert!(text.len() <= OF_A_TASK, "{task}: {} characters", text.len());
        for (method, path) in calls {
            let operation = &document["paths"][path][method];
            assert!(operation.is_object(), "{method} {path}");
            let is_named = names(&text.replace(&app.base, ""), method, path);
            assert!(is_named, "{task}: {method} {path} is not named");
            for field in required(&document, operation) {
                assert!(text.contains(&field), "{task}: {path} needs {field}");
            }
        }
    }
}

/// The required fields of the body and the query of an operation.
fn required(document: &Value, operation: &Value) -> Vec<String> {
    let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let schema = body.as_str().map(|name| document.pointer(&name[1..]).unwrap());
    let fields = schema.and_then(|schema| schema["required"].as_array()).into_iter().flatten();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.filter(|it| it["in"] == "query" && it["required"] == true);
    let parameters = parameters.map(|it| &it["name"]);
    fields.chain(parameters).map(|name| name.as_str().unwrap().to_owned()).collect()
}
