//! A whole story through the real program: none of its secrets, and nothing that stands for a
//! person, shows in the log, in the metrics, or in an answer that is not meant to show it.

use super::secrecy_story::Story;

/// Returns the log.
async fn log_of_story(settings: &[(&str, &str)]) -> String {
    let mut story = Story::begin(settings).await;
    story.signs_up().await;
    let policy = story.sets_up().await;
    story.is_visited(&policy).await;
    story.resolves_people().await;
    story.pays().await;
    story.lets_an_agent_work().await;
    story.meets_a_broken_database(&policy).await;
    story.reveals_nothing().await;
    story.service.log()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_shows_in_the_usual_log() {
    log_of_story(&[("LOG_FORMAT", "text")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_shows_in_the_json_log() {
    log_of_story(&[("LOG_FORMAT", "json")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_shows_in_the_log_of_a_search_for_an_error() {
    for settings in [
        [("LOG_FORMAT", "text"), ("RUST_LOG", "debug,rmcp::service=trace,rocket::server=trace")],
        [("LOG_FORMAT", "json"), ("RUST_LOG", "trace")],
    ] {
        let log = log_of_story(&settings).await;
        assert!(log.contains("WHERE key_hash = $1"), "this is no search: {log}");
    }
}
