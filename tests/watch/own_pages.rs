//! The service's own pages, and the examples of its documents, load nothing without consent.

use assent::guide::topics;
use reqwest::Method;

use crate::runs::{VISITS, step, watch};
use crate::support::Answer;
use crate::tagged_pages::{TAG, Tagged, short};

/// The address of the service in documents.
const EXAMPLE: &str = "https://consent.example.com";
const TAG_GUIDE: &str = include_str!("../../docs/tag.md");
const PACKAGE: &str = include_str!("../../packages/web/README.md");

/// The examples of HTML in a document.
fn examples_of(document: &str) -> Vec<&str> {
    // The opening line may name a file.
    let blocks = document.split("```html").skip(1).filter_map(|block| block.split_once('\n'));
    blocks.map(|(_, block)| block.split("```").next().unwrap().trim()).collect()
}

/// A page with an example and the tag.
fn page_of(example: &str) -> String {
    let tag = if example.contains("/px/") { "" } else { TAG };
    let example = example.replace(EXAMPLE, "BASE").replace("PIXEL_ID", "PIXEL");
    format!("<!doctype html><title>Shop</title>{tag}{example}<h1>Shop</h1>")
}

/// Pages with the examples of the guides, of what `/docs` serves, and of the package for browsers, each once.
fn pages() -> Vec<String> {
    let served = topics::everything(EXAMPLE);
    let mut examples = Vec::new();
    for document in [TAG_GUIDE, &served, PACKAGE] {
        let found = examples_of(document);
        assert!(!found.is_empty(), "{document}");
        for example in found {
            if !examples.contains(&example) {
                examples.push(example);
            }
        }
    }
    assert!(examples.len() > 10, "{examples:?}");
    examples.into_iter().map(page_of).collect()
}

/// The path of the preview of a demo tag.
async fn preview(tagged: &Tagged) -> String {
    let form = [("domain", "demo.example"), ("controller_name", "Shop")];
    let request = tagged.app.request(Method::POST, "/demo/provision").form(&form);
    let made = Answer::of(request).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let marker = format!("src=\"{}/px/", tagged.app.base);
    let (_, rest) = made.text.split_once(&marker).expect("the tag");
    format!("/demo/preview/{}", rest.split(".js").next().unwrap())
}

#[tokio::test]
async fn pages_of_the_service_are_silent() {
    let tagged = Tagged::with("").await;
    let preview = preview(&tagged).await;
    let notice = format!("/v1/policy/{}", tagged.pixel);
    let your_data = format!("/your-data?lang=en#pixel={}&visitor=v-1", tagged.pixel);
    let paths = [
        "/",
        "/guide",
        "/guide/tag",
        "/docs",
        "/log",
        "/privacy",
        "/demo",
        &notice,
        "/verify",
        &your_data,
        "/console/sign-in",
        "/console/sign-up",
        &preview,
    ];
    let paths = paths.into_iter().step_by(step()).collect::<Vec<_>>();
    let urls = paths.iter().map(|path| tagged.app.url(path)).collect::<Vec<_>>();
    let urls = urls.iter().map(String::as_str).collect::<Vec<_>>();
    let halves = urls.split_at(urls.len() / 2);
    let (first, second) = (short(halves.0), short(halves.1));
    let (first, second) = tokio::join!(watch(&first), watch(&second));
    let numbered = (0..halves.0.len()).map(|number| (&first, number));
    let numbered = numbered.chain((0..halves.1.len()).map(|number| (&second, number)));
    for ((run, number), path) in numbered.zip(paths) {
        if path == preview {
            // It has a tag, with which choices are made.
            let visits = &run.report["pages"][number]["visits"];
            assert_eq!(run.visits_that_are(number, Some(true)), VISITS, "{visits}");
        }
        // The others have no tag, so that nothing can be accepted or declined.
        let observed = run.visits_that_are(number, Some(true));
        let without_choice = ["untouched", "gpc", "blocked"];
        assert!(
            without_choice.iter().all(|visit| observed.contains(visit)),
            "{path}: {observed:?}"
        );
        assert_eq!(run.visits_that_are(number, Some(false)), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn the_examples_of_the_documents_are_silent() {
    let examples = pages().into_iter().step_by(step()).collect::<Vec<_>>();
    let addresses = (0..examples.len()).map(|number| format!("shop.test/{number}"));
    let addresses = addresses.collect::<Vec<_>>();
    let documents = addresses.iter().zip(&examples);
    let documents = documents.map(|(address, text)| (address.as_str(), text.as_str()));
    let tagged = Tagged::serving(&documents.collect::<Vec<_>>()).await;
    let addresses = addresses.iter().map(String::as_str).collect::<Vec<_>>();
    let halves = addresses.split_at(addresses.len() / 2);
    let runs = tagged.watch([halves.0, halves.1]).await;
    let mut remaining = examples.iter();
    for (run, addresses) in runs.iter().zip([halves.0, halves.1]) {
        for number in 0..addresses.len() {
            let (example, visits) =
                (remaining.next().unwrap(), &run.report["pages"][number]["visits"]);
            assert_eq!(run.visits_that_are(number, Some(true)), VISITS, "{example}: {visits}");
        }
        run.ends_with(0);
    }
}
