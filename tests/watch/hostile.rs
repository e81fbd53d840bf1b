//! Pages that resist observation: the command ends within its bounds, says what it could not observe, and leaves
//! nothing behind.

use std::time::{Duration, Instant};

use crate::runs::{Run, watch};
use crate::sites::{ENDLESS, GIGABYTE, Sites, UNANSWERED};

/// The bound on one page, and the start and end of the command.
const BOUND: Duration = Duration::from_secs(200);
const LEAK: &str = r#"<script>new Image().src = "http://leak.localhost:PORT/i.png"</script>"#;

async fn visit(host: &str, body: &str) -> Run {
    let page = format!("<!doctype html><title>Page</title><body><p>Text</p>{body}");
    let page = if body.starts_with('~') { body.to_owned() } else { page };
    let sites = Sites::start(&[
        (&format!("{host}.localhost/"), page),
        (&format!("{host}.localhost/endless.bin"), ENDLESS.to_owned()),
        (&format!("{host}.localhost/gigabyte.bin"), GIGABYTE.to_owned()),
        (
            &format!("{host}.localhost/file.bin"),
            "+ Content-Disposition: attachment\nfile".to_owned(),
        ),
        (
            &format!("{host}.localhost/service.js"),
            "onfetch = () => {}; setInterval(() => fetch('/data.txt'), 20)".to_owned(),
        ),
    ])
    .await;
    let start = Instant::now();
    let run = watch(&[&sites.url(&format!("{host}.localhost/"))]).await;
    println!("{host}: {:?}", start.elapsed());
    assert!(start.elapsed() < BOUND, "{host}: {:?}", start.elapsed());
    assert!(run.has_cleared(), "{host}: no browser and no profile is left");
    run
}

/// Names the leak beside the hostile behaviour, in each visit without a choice.
async fn leak_is_named(host: &str, body: &str) {
    let run = visit(host, &(LEAK.to_owned() + body)).await;
    run.ends_with(1);
    let visits = run.visits_with(0, "leaks", "leak.localhost");
    for visit in ["untouched", "gpc", "blocked"] {
        assert!(visits.contains(&visit), "{host}: {}", run.report);
    }
}

#[tokio::test]
async fn endless_loads_dialogs_downloads_and_large_answers_hide_no_leak() {
    leak_is_named(
        "loading",
        r#"<img src="/endless.bin" alt=""><iframe src="/endless.bin"></iframe>"#,
    )
    .await;
    leak_is_named(
        "asking",
        "<script>onbeforeunload = (event) => { event.preventDefault(); return 'Stay' };
        setInterval(() => { alert('a'); confirm('b'); prompt('c') }, 100)</script>",
    )
    .await;
    leak_is_named(
        "loading-files",
        r#"<iframe src="/file.bin"></iframe><a id="a" download href="/file.bin">A</a>
        <script>setInterval(() => a.click(), 50)</script>"#,
    )
    .await;
    leak_is_named("large", r#"<script>fetch("/gigabyte.bin").then((all) => all.blob())</script>"#)
        .await;
}

#[tokio::test]
async fn windows_workers_and_navigations_without_end_hide_no_leak() {
    leak_is_named(
        "opening",
        "<script>setInterval(() => { for (let n = 0; n < 20; n++) open('/', '_blank') }, 50)</script>",
    )
    .await;
    leak_is_named(
        "serving",
        "<script>navigator.serviceWorker.register('/service.js');
        setInterval(() => new Worker(URL.createObjectURL(new Blob(['for (;;);']))), 100)</script>",
    )
    .await;
    leak_is_named("moving", "<script>setInterval(() => location.reload(), 300)</script>").await;
    leak_is_named(
        "detecting",
        "<script>if (navigator.webdriver) document.body.innerHTML = '';
        setInterval(() => { debugger }, 10)</script>",
    )
    .await;
    leak_is_named(
        "growing",
        "<script>for (let n = 0; n < 200000; n++) document.body.append(document.createElement('p'))</script>",
    )
    .await;
}

#[tokio::test]
async fn a_page_that_never_answers_or_blocks_its_thread_is_not_observed() {
    for (host, body, code) in [
        ("silent", UNANSWERED, 2),
        ("huge", GIGABYTE, 2),
        ("looping", "<script>setTimeout(() => { for (;;); }, 200)</script>", 2),
    ] {
        let run = visit(host, body).await;
        run.ends_with(code);
        for visit in run.report["pages"][0]["visits"].as_array().unwrap() {
            if visit["silent"].is_null() {
                assert!(visit["unobserved"].as_str().is_some_and(|reason| reason.len() > 10));
            }
        }
        assert!(run.visits_that_are(0, None).len() >= 3, "{host}: {}", run.report);
    }
}

#[tokio::test]
async fn a_page_cannot_fill_the_disk() {
    let run = visit(
        "filling",
        "<script>(async () => { const all = new Uint8Array(32 << 20);
        for (let at = 0; at < all.length; at += 65536)
            crypto.getRandomValues(all.subarray(at, at + 65536));
        const root = await navigator.storage.getDirectory();
        for (let n = 0; ; n++) {
            const file = await (await root.getFileHandle(`${n}`, {create: true})).createWritable();
            await file.write(all); await file.close();
        } })()</script>",
    )
    .await;
    run.ends_with(2);
    let reason = run.visit(0, "untouched")["unobserved"].as_str().unwrap_or_default().to_owned();
    println!("filling: {reason}");
}

#[tokio::test]
async fn one_site_is_visited_within_a_minute() {
    let page = "<!doctype html><title>Page</title><p>Text</p>".to_owned();
    let sites = Sites::start(&[("quick.localhost/", page)]).await;
    let start = Instant::now();
    let run = watch(&[&sites.url("quick.localhost/"), "--seconds", "4"]).await;
    println!("six visits with 4 s of observation: {:?}", start.elapsed());
    run.ends_with(2);
    assert_eq!(run.report["seconds"], 4.0);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
