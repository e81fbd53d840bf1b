//! The README and the list of settings are true: the example is run as it is written.

use std::process::Command;

use crate::support::App;
use crate::support::process::{run, said};

/// The shell block between the two marks.
fn story() -> String {
    let readme = include_str!("../../../README.md");
    let marked = readme.split_once("<!-- story:begin").expect("the README tells a story").1;
    let marked = marked.split_once("<!-- story:end -->").expect("the story ends").0;
    let block = marked.split_once("```sh\n").expect("the story is a shell block").1;
    block.split_once("```").expect("the block ends").0.to_owned()
}

#[tokio::test]
async fn the_story_of_the_readme_ends_with_a_valid_receipt() {
    let app = App::spawn().await;
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &story()]).env("BASE", &app.base).env("NO_PROXY", "localhost");
    let (code, output, errors) = said(&run(shell).await);
    assert_eq!(code, Some(0), "{output}{errors}");
    assert!(output.contains(r#""recorded":true"#), "{output}");
    assert!(output.contains(r#""permitted":true,"reason":"ok""#), "{output}");
    assert!(output.trim_end().ends_with(r#"{"valid":true}"#), "{output}{errors}");
    assert_eq!(errors, "");
}

#[test]
fn every_setting_that_the_program_reads_is_documented() {
    let manual = include_str!("../../../docs/configuration.md");
    let config = include_str!("../../../src/config/mod.rs");
    let (config, _tests) = config.split_once("#[cfg(test)]").expect("the settings have tests");
    let names = config.split('"').filter(|text| {
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        text.len() > 3 && text.bytes().all(is_name)
    });
    let missing = names.filter(|name| !manual.contains(&format!("`{name}`"))).collect::<Vec<_>>();
    assert!(missing.is_empty(), "not in docs/configuration.md: {missing:?}");
}
