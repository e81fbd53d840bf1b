//! The end of the command during a visit.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::runs::{Watcher, processes, profiles};
use crate::sites::Sites;
use crate::support::waiting::wait_until;

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
