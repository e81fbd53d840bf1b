//! The user and the sandbox of the browser, while a page is observed.

use crate::runs::{Watcher, ids};
use crate::sites::Sites;
use crate::support::waiting::wait_until;

/// The filter mode of system calls in `/proc/PID/status` (proc_pid_status(5)).
const FILTERED: &str = "2";

struct Process {
    arguments: String,
    /// Real, effective, saved and file system user.
    users: Vec<String>,
    seccomp: String,
}

/// `None` if the process has ended.
fn process(id: &str) -> Option<Process> {
    let arguments = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let values = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    Some(Process { arguments, users: values("Uid:"), seccomp: values("Seccomp:").concat() })
}

#[tokio::test]
async fn the_browser_is_another_user_than_root_and_its_pages_are_in_a_sandbox() {
    let page = "<!doctype html><title>Shop</title>".to_owned();
    let sites = Sites::start(&[("shop.test/", page)]).await;
    let watcher = Watcher::new();
    let url = sites.url("shop.test/");
    let mut running = watcher.command(&[&url, "--seconds", "50"]).spawn().unwrap();
    wait_until("the page is visited", async || sites.was_asked_for("shop.test/")).await;
    let found = ids(watcher.folder.path());
    let found = found.iter().filter_map(|id| process(id)).collect::<Vec<_>>();
    running.kill().await.unwrap();
    let is_clear = async || ids(watcher.folder.path()).is_empty();
    wait_until("the browsers have ended", is_clear).await;
    let of =
        |part: &str| found.iter().filter(|one| one.arguments.contains(part)).collect::<Vec<_>>();
    let (browsers, pages) = (of("--user-data-dir="), of("--type=renderer"));
    assert!(browsers.len() > 1 && pages.len() > 1, "{} and {}", browsers.len(), pages.len());
    for one in browsers.iter().chain(&pages) {
        let is_root = one.users.iter().any(|user| user == "0");
        assert!(!one.users.is_empty() && !is_root, "{}: {:?}", one.arguments, one.users);
    }
    // The option is used only on a machine without user namespaces.
    if of("--no-sandbox").is_empty() {
        for one in &pages {
            assert_eq!(one.seccomp, FILTERED, "{}", one.arguments);
        }
    }
}
