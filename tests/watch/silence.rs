//! Pages without a consent tag that tell nobody: no leak is named, but the choices are not observed.

use crate::runs::{VISITS, watch};
use crate::sites::Sites;

const STATIC: &str =
    "<!doctype html><title>Page</title><style>p { color: green }</style><p>Text</p>";

const OF_ITS_OWN_SITE: &str = r#"<!doctype html><title>Page</title>
    <link rel="stylesheet" href="/s.css"><link rel="preconnect" href="http://cdn.own.test:PORT">
    <script src="http://cdn.own.test:PORT/s.js"></script><iframe src="http://www.own.test:PORT/f"></iframe>
    <img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt="">
    <script>fetch("/data.txt"); navigator.sendBeacon("/count")</script>"#;

/// Preferences and times are no identifiers, nor is anything that ends with the session or within a day.
const REMEMBERING: &str = r"<!doctype html><title>Page</title><script>
    const random = [...crypto.getRandomValues(new Uint8Array(16))].join('');
    document.cookie = `session=${random}`;
    document.cookie = `short=${random}; max-age=3600`;
    document.cookie = `lang=en; max-age=31536000`;
    document.cookie = `first_visit=${Date.now()}; max-age=31536000`;
    sessionStorage.setItem('id', random);
    localStorage.setItem('theme', 'dark');
    localStorage.setItem('group', ['a', 'b', 'c'][Math.floor(Math.random() * 3)]);
    </script>";

async fn is_silent(host: &str, page: &str) -> crate::runs::Run {
    let sites = Sites::start(&[(&format!("{host}/"), page.to_owned())]).await;
    let run = watch(&[&sites.url(host)]).await;
    run.ends_with(2);
    for visit in VISITS {
        assert_eq!(run.visit(0, visit)["leaks"].as_array().map(Vec::len), Some(0), "{visit}");
    }
    assert_eq!(run.visits_that_are(0, Some(true)), ["untouched", "gpc", "blocked"]);
    assert_eq!(run.visits_that_are(0, Some(false)), [""; 0]);
    run
}

#[tokio::test]
async fn a_page_that_loads_nothing_is_silent() {
    is_silent("static.test", STATIC).await;
}

#[tokio::test]
async fn a_page_that_loads_from_its_own_site_only_is_silent() {
    is_silent("own.test", OF_ITS_OWN_SITE).await;
}

#[tokio::test]
async fn sessions_and_preferences_are_listed_by_name_and_are_no_leaks() {
    let run = is_silent("remembering.test", REMEMBERING).await;
    let names = |list: &str| {
        let listed = run.visit(0, "untouched")[list].as_array().unwrap();
        let mut names =
            listed.iter().map(|entry| entry["name"].as_str().unwrap()).collect::<Vec<_>>();
        names.sort_unstable();
        names
    };
    assert_eq!(names("cookies"), ["first_visit", "lang", "session", "short"]);
    assert_eq!(names("storage"), ["group", "id", "theme"]);
}
