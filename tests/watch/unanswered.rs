//! Pages that cannot be judged: the run ends with 2 and says why, and what leaked before is named.

use std::time::Duration;

use crate::hostile_site::HostileSite;
use crate::runs::{Run, VISITS, watch};
use crate::sites::Sites;
use crate::support::sites::https_site::{HttpsSite, Reply};

/// The time of six visits that wait 20 seconds for an answer, two at a time.
const WAITING: Duration = Duration::from_secs(180);

/// Fails unless no visit of a page was observed, for this reason.
#[track_caller]
fn is_unobserved(run: &Run, page: usize, reason: &str) {
    assert_eq!(run.visits_that_are(page, None), VISITS);
    for visit in VISITS {
        assert_eq!(run.visit(page, visit)["unobserved"].as_str(), Some(reason), "{visit}");
    }
}

#[tokio::test]
async fn a_page_with_the_status_of_an_error_is_not_observed_and_its_leaks_are_named() {
    let page = "<!doctype html><title>Error</title><p>Something went wrong";
    let image = r#"<img src="http://image.test:PORT/i.png" alt="">"#;
    let sites = Sites::start(&[
        ("missing.test/", format!("+ Status: 404 Not Found\n{page}")),
        ("broken.test/", format!("+ Status: 500 Internal Server Error\n{page}")),
        ("leaking.test/", format!("+ Status: 404 Not Found\n{page}{image}")),
    ])
    .await;
    let run = watch(&[&sites.url("missing.test/"), &sites.url("broken.test/")]).await;
    run.ends_with(2);
    is_unobserved(&run, 0, "the page answered with status 404");
    is_unobserved(&run, 1, "the page answered with status 500");
    let run = watch(&[&sites.url("leaking.test/")]).await;
    run.ends_with(1);
    is_unobserved(&run, 0, "the page answered with status 404");
    assert_eq!(run.visits_with(0, "leaks", "image.test"), VISITS);
}

#[tokio::test]
async fn a_page_with_an_invalid_certificate_is_not_observed() {
    let site = HttpsSite::start(&["shop.test"]).await;
    let port = site.address.port();
    site.answer(&format!("shop.test:{port}/"), Reply::page("<!doctype html><title>Page</title>"));
    let run = watch(&[&format!("https://shop.test:{port}/")]).await;
    run.ends_with(2);
    is_unobserved(&run, 0, "the page cannot be loaded: net::ERR_CERT_AUTHORITY_INVALID");
    assert!(site.seen().is_empty(), "it was asked in spite of that");
}

#[tokio::test]
async fn a_page_that_never_answers_is_not_observed() {
    let site = HostileSite::start(&[String::new()]).await;
    let run = watch(&[&format!("{}silent", site.plain_url())]).await;
    run.ends_with(2);
    is_unobserved(&run, 0, "the page did not answer within 20 s");
    assert!(run.took < WAITING, "{:?}", run.took);
    run.leaves_nothing();
}
