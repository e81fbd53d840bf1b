//! The program is one file: copied alone into an empty folder it serves every page.

use std::fs;
use std::process::Command;

use crate::support::postgres::database::TestDatabase;
use crate::support::process::{Process, program};

/// Addresses for people, browsers and agents, each with a text that its answer must contain.
const READ: [(&str, &str); 25] = [
    ("/", "<h1"),
    ("/console/sign-in", "<form"),
    ("/console/sign-up", "<form"),
    ("/your-data", "<h1"),
    ("/demo", "<form"),
    ("/demo/preview", "<h1"),
    ("/docs", "create_pixel"),
    ("/docs/reference", "create_pixel"),
    ("/guide", "<h2"),
    ("/guide/tag", "<h2"),
    ("/guide/webhooks", "<h2"),
    ("/guide.md", "# "),
    ("/llms.txt", "# "),
    ("/log", "<form"),
    ("/assets/site.css", "body"),
    ("/assets/docs.js", "document"),
    ("/favicon.ico", "<svg"),
    ("/openapi.json", "\"openapi\""),
    ("/pixel.js", "tag-pixel"),
    ("/site/pixel", "<h1"),
    ("/site/permission", "<h1"),
    ("/privacy", "<h1"),
    ("/terms", "<h1"),
    ("/accessibility", "<h1"),
    ("/v1/plans", "plans"),
];

#[tokio::test]
async fn the_program_alone_in_an_empty_folder_serves_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("assent");
    fs::copy(env!("CARGO_BIN_EXE_assent"), &alone).unwrap();
    let database = TestDatabase::create().await;
    let settings = program(&database.url);
    let mut command = Command::new(&alone);
    command.env_clear().current_dir(folder.path());
    command.envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let service = Process::start(command).await;
    for (path, piece) in READ {
        let answer = reqwest::get(service.url(path)).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let text = answer.text().await.unwrap();
        assert!(text.contains(piece), "{path}: {text}");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "it needed and made no other file");
}
