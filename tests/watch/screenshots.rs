//! A node that takes pictures of popups.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use assent::types::locales;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::runs::{alone, chromium, processes};
use crate::sites::Sites;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::public_log::PublicLog;
use crate::support::{Account, App, Process};

const LIMIT: Duration = Duration::from_secs(400);

/// A site whose popup is published, and a node with a browser.
struct Scene {
    app: App,
    ann: Account,
    site: Site,
    folder: TempDir,
    node: Option<Process>,
}

impl Scene {
    async fn with_browser(browser: &Path, base_url: &str) -> Self {
        Self::with_sites(browser, base_url, &[]).await
    }

    async fn with_sites(browser: &Path, base_url: &str, others: &[&str]) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        let app = App::spawn_on(Arc::clone(&database), Clock::System, &[LOG_KEY]).await;
        let ann = app.account("ann@example.com").await;
        let site = app.consent_site(&ann.key, "shop.example").await;
        for other in others {
            app.consent_site(&ann.key, other).await;
        }
        let folder = tempfile::Builder::new().prefix("n").rand_bytes(5).tempdir_in("/tmp").unwrap();
        // Started by root, the browser is another user.
        let open_to_all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open_to_all).unwrap();
        let mut command = program(&database.url);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMPDIR", folder.path()).env("WATCH_BROWSER", browser);
        command.env("BASE_URL", base_url);
        let node = Some(Process::start(command).await);
        Self { app, ann, site, folder, node }
    }

    fn path(&self) -> String {
        format!("/v1/pixels/{}/screenshots", self.site.pixel_id)
    }

    /// The pictures of a policy version, once there are all.
    async fn pictures(&self, version: i32) -> Vec<Value> {
        let started = Instant::now();
        loop {
            let path = format!("{}?limit=200", self.path());
            let list = self.app.read(&self.ann.key, &path).await.expect(200);
            let of_version = |one: &&Value| one["policy_version"] == version;
            let found = list["screenshots"].as_array().unwrap().iter().filter(of_version);
            let found = found.cloned().collect::<Vec<_>>();
            if !found.is_empty() {
                return found;
            }
            let log = self.node.as_ref().map(Process::log);
            assert!(started.elapsed() < LIMIT, "no pictures: {log:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until taking the pictures has failed once, and is planned for later.
    async fn fails_once(&self) {
        let started = Instant::now();
        loop {
            let failures = "SELECT failures FROM popup_screenshots_due
                WHERE busy_until IS NULL AND next_at > now()";
            let failures = sqlx::query_scalar::<_, i32>(failures);
            if failures.fetch_optional(&self.app.pool).await.unwrap() == Some(1) {
                return;
            }
            assert!(started.elapsed() < LIMIT, "{:?}", self.node.as_ref().map(Process::log));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn png(&self, picture: &Value) -> Vec<u8> {
        let path = format!("{}/{}", self.path(), picture["screenshot_id"].as_str().unwrap());
        let request = self.app.request(Method::GET, &path).bearer_auth(&self.ann.key);
        request.send().await.unwrap().bytes().await.unwrap().to_vec()
    }
}

fn find<'a>(pictures: &'a [Value], language: &str, device: &str) -> &'a Value {
    let is_it = |one: &&Value| one["language"] == language && one["device"] == device;
    pictures.iter().find(is_it).expect("there is a picture of each")
}

#[tokio::test]
async fn a_published_popup_is_photographed_in_every_language_on_every_device() {
    let _alone = alone().await;
    let service = Sites::start(&[]).await;
    let base = format!("http://localhost:{}", service.port);
    let mut scene = Scene::with_browser(&chromium(), &base).await;
    let pictures = scene.pictures(1).await;
    let languages = locales::all().map(|locale| locale.lang.as_str()).collect::<BTreeSet<_>>();
    assert_eq!(pictures.len(), 2 * languages.len());
    for (device, size) in [("desktop", [1280, 800]), ("phone", [390, 844])] {
        let of_device = pictures.iter().filter(|one| one["device"] == device);
        let found = of_device.map(|one| one["language"].as_str().unwrap()).collect::<BTreeSet<_>>();
        assert_eq!(found, languages, "{device}");
        let picture = find(&pictures, "en", device);
        assert_eq!(picture["policy_hash"], scene.site.policy_hash);
        let png = scene.png(picture).await;
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        // Width and height stand in the first chunk.
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!([number(16), number(20)], size, "{device}");
        assert_eq!(picture["sha256"], hex::encode(Sha256::digest(&png)));
        let other = find(&pictures, "de", device);
        assert_ne!(picture["sha256"], other["sha256"], "the popup is in its language");
    }
    // The notice of the pictures is what the service answers to a visitor.
    let notice = format!("/v1/policy/{}?lang=de", scene.site.pixel_id);
    let notice = scene.app.request(Method::GET, &notice).header("accept", "text/plain");
    let notice = notice.send().await.unwrap().bytes().await.unwrap();
    let german = find(&pictures, "de", "phone");
    assert_eq!(german["notice"], hex::encode(Sha256::digest(&notice)));
    let public = async || {
        let log = PublicLog::read(&scene.app.client, &scene.app.base).await;
        log.is_some_and(|log| log.has("screenshots", german["list_sha256"].as_str().unwrap()))
    };
    crate::support::waiting::wait_until("the list is in the log", public).await;

    let dark = json!({"background": "#202020", "text": "#ffffff", "button": "#ffffff", "button_text": "#000000", "link": "#ffffff"});
    let body = json!({"controller_name": "Other Ltd", "purposes": ["analytics"], "appearance": {"colors": {"light": dark}}});
    scene.app.configure(&scene.ann.key, &scene.site.pixel_id, body).await.expect(200);
    let later = scene.pictures(2).await;
    assert_eq!(later.len(), 2 * languages.len());
    let (before, after) = (find(&pictures, "en", "desktop"), find(&later, "en", "desktop"));
    assert_ne!(before["sha256"], after["sha256"]);
    assert!(service.asked().is_empty(), "nothing was requested: {:?}", service.asked());
    drop(scene.node.take());
    let started = Instant::now();
    while processes(scene.folder.path()) > 0 {
        assert!(started.elapsed() < LIMIT, "a browser is left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_browser_that_fails_is_tried_again_later_and_publishing_goes_on() {
    let scene = Scene::with_browser(Path::new("/bin/false"), "http://localhost:9").await;
    scene.fails_once().await;
    let body = json!({"controller_name": "Other Ltd", "purposes": ["analytics"]});
    let configured = scene.app.configure(&scene.ann.key, &scene.site.pixel_id, body).await;
    assert_eq!(configured.expect(200)["policy_version"], 2);
    // The new form begins anew.
    scene.fails_once().await;
    let list = scene.app.read(&scene.ann.key, &scene.path()).await.expect(200);
    assert_eq!(list["screenshots"], json!([]));
}

#[tokio::test]
async fn a_browser_that_fails_ends_the_round() {
    let others = ["one.example", "two.example"];
    let scene = Scene::with_sites(Path::new("/bin/false"), "http://localhost:9", &others).await;
    let failures = async || {
        let failures = "SELECT sum(failures) FROM popup_screenshots_due";
        sqlx::query_scalar::<_, i64>(failures).fetch_one(&scene.app.pool).await.unwrap()
    };
    let started = Instant::now();
    while failures().await == 0 {
        assert!(started.elapsed() < LIMIT, "{:?}", scene.node.as_ref().map(Process::log));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(failures().await, 1, "the other popups wait for the next round");
}

/// Browsers that answer once and ignore SIGTERM, and the reasons why the node gives up.
const RESISTING: [(&str, &str); 2] = [
    ("setsid sleep 1000 & sleep 1000", "the browser did not answer Target.setAutoAttach"),
    (
        "truncate -s 300M \"$TMPDIR/a\" \"$TMPDIR/b\"; sleep 1000",
        "the page filled more than 512 MiB of disk",
    ),
];

async fn gives_up((behaviour, reason): (&str, &str)) {
    let folder = tempfile::Builder::new().prefix("b").rand_bytes(5).tempdir_in("/tmp").unwrap();
    let browser = folder.path().join("browser");
    let answer = r#"{"id":1,"result":{"product":"Stand-in/1"}}\000"#;
    let script = format!(
        "#!/bin/sh\ntrap '' TERM INT HUP\nhead -c 1 <&3 >/dev/null\nprintf '{answer}' >&4\n{behaviour}\n"
    );
    std::fs::write(&browser, script).unwrap();
    for path in [folder.path(), &browser] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let scene = Scene::with_browser(&browser, "http://localhost:9").await;
    scene.fails_once().await;
    let node = scene.node.as_ref().unwrap();
    let is_logged = async || node.log().contains(reason);
    crate::support::waiting::wait_until(reason, is_logged).await;
    let left = std::fs::read_dir(scene.folder.path()).unwrap().flatten();
    let left = left.map(|entry| entry.file_name().into_string().unwrap());
    let left = left.filter(|name| name.starts_with("assent-")).collect::<Vec<_>>();
    assert!(left.is_empty(), "{reason}: {left:?}");
    assert_eq!(processes(scene.folder.path()), 1, "{reason}: only the node is left");
}

#[tokio::test]
async fn a_browser_that_hangs_or_fills_the_disk_is_ended_and_the_node_goes_on() {
    join_all(RESISTING.map(gives_up)).await;
}
