//! The legal pages of the service: privacy, terms and related documents.

use reqwest::Client;

use crate::support::postgres::database::TestDatabase;
use crate::support::process::{Process, program};

const PAGES: [&str; 5] = ["privacy", "terms", "dpa", "subprocessors", "accessibility"];

async fn read(service: &Process, name: &str) -> String {
    let answer = Client::new().get(service.url(&format!("/{name}"))).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{name}");
    answer.text().await.unwrap()
}

const TEMPLATE: &str = "This is a template.";

#[tokio::test]
async fn legal_pages_without_an_operator_say_that_they_are_templates_for_a_lawyer() {
    let database = TestDatabase::create().await;
    let service = Process::start(program(&database.url)).await;
    for name in PAGES {
        let page = read(&service, name).await;
        assert!(page.contains(TEMPLATE) && page.contains("lawyer"), "{name}");
    }
    let privacy = read(&service, "privacy").await;
    assert!(privacy.contains("people who must never be stored"));
    assert!(privacy.contains("legal basis") && privacy.contains("once a year"));
}

#[tokio::test]
async fn legal_pages_name_the_operator_and_describe_this_installation() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command
        .env("OPERATOR_NAME", "Ann & <b>Co</b> *Ltd*")
        .env("OPERATOR_ADDRESS", "1 Main Street\nDublin")
        .env("OPERATOR_EMAIL", "privacy@operator.example")
        .env("RETENTION_DAYS_WITHDRAWN", "3")
        .env("RETENTION_DAYS_RECEIPTS", "1234");
    let service = Process::start(command).await;
    for name in PAGES {
        let page = read(&service, name).await;
        assert!(!page.contains(TEMPLATE), "{name}");
    }
    let privacy = read(&service, "privacy").await;
    for expected in [
        "Ann &amp; &lt;b&gt;Co&lt;/b&gt; *Ltd*",
        "1 Main Street Dublin",
        "<a href=\"mailto:privacy@operator.example\">privacy@operator.example</a>",
        "then 3 days",
        "1234 days",
    ] {
        assert!(privacy.contains(expected), "{expected}");
    }
    let others = read(&service, "subprocessors").await;
    assert!(others.contains("sends no mail") && others.contains("takes no payments"));
}

#[tokio::test]
async fn an_operators_own_text_replaces_ours_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("OPERATOR_PAPERS", folder.path());
    let service = Process::start(command).await;
    assert!(read(&service, "terms").await.contains(TEMPLATE));
    std::fs::write(folder.path().join("terms.md"), "# Our terms\n\nBe *kind*.").unwrap();
    let terms = read(&service, "terms").await;
    assert!(terms.contains("<h1>Our terms</h1>") && terms.contains("<em>kind</em>"));
    assert!(read(&service, "terms?lang=de").await.contains("<h1>Our terms</h1>"));
    std::fs::write(folder.path().join("terms.de.md"), "# Unsere Bedingungen").unwrap();
    assert!(read(&service, "terms?lang=de").await.contains("<h1>Unsere Bedingungen</h1>"));
    assert!(read(&service, "terms").await.contains("<h1>Our terms</h1>"));
    assert!(!terms.contains(TEMPLATE));
    assert!(read(&service, "privacy").await.contains(TEMPLATE), "the others stay ours");
    // A file that exists and cannot be read is not replaced by another text.
    std::fs::remove_file(folder.path().join("terms.md")).unwrap();
    std::fs::create_dir(folder.path().join("terms.md")).unwrap();
    let answer = Client::new().get(service.url("/terms")).send().await.unwrap();
    assert_eq!(answer.status(), 500);
}
