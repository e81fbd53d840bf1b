//! The end of the command during a visit.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::runs::Watcher;
use crate::sites::Sites;
use crate::support::waiting::wait_until;

/// The processes whose arguments or environment name the folder.
fn processes(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let has_it = |process: &Path| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = std::fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(folder)
        })
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|process| has_it(&process.path())).count()
}

fn profiles(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("assent-watch-")).count()
}

#[tokio::test]
async fn killed_during_a_visit_it_leaves_no_browser_no_profile_and_no_report() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let page = "<!doctype html><title>Shop</title>".to_owned();
        let sites = Sites::start(&[("shop.test/", page)]).await;
        let watcher = Watcher::new();
        let folder = watcher.folder.path();
        let url = sites.url("shop.test/");
        let mut running = watcher.command(&[&url, "--seconds", "50"]).spawn().unwrap();
        wait_until("the page is visited", async || sites.was_asked_for("shop.test/")).await;
        assert!(processes(folder) > 4, "browsers run");
        assert_eq!(profiles(folder), 1);
        let id = i32::try_from(running.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
        let killed = Instant::now();
        running.wait().await.unwrap();
        let is_clear = async || processes(folder) == 0 && profiles(folder) == 0;
        wait_until("the browsers have ended", is_clear).await;
        assert!(killed.elapsed() < Duration::from_secs(10), "{signal}: {:?}", killed.elapsed());
        assert!(!watcher.report().exists(), "{signal}");
    }
}
