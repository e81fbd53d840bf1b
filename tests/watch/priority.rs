//! The priority of the browsers of a node, and of those of a person.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::runs::{Watcher, alone, ids};
use crate::sites::Sites;
use crate::support::waiting::wait_until;

const SCHED_OTHER: &str = "0";
const SCHED_IDLE: &str = "5";

/// Scheduling policy, class of input and output, and nice value of the session.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    policy: String,
    io: String,
    session: String,
    is_session_of_test: bool,
}

/// A number of `/proc/PID/stat`, counted from 1 as in its manual.
fn number(id: &str, field: usize) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, the second field, may contain spaces.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(field - 3).map(str::to_owned)
}

/// `nice 19`; empty on a machine without groups of sessions.
fn nice_of_session(id: &str) -> String {
    let group = std::fs::read_to_string(format!("/proc/{id}/autogroup")).unwrap_or_default();
    group.split_once(' ').map(|(_, nice)| nice.trim().to_owned()).unwrap_or_default()
}

/// `None` if the process has ended.
fn priority(id: &str) -> Option<Priority> {
    let io = Command::new("ionice").args(["-p", id]).output().unwrap().stdout;
    let io = String::from_utf8(io).unwrap();
    let io = io.split([':', '\n']).next().unwrap_or_default().to_owned();
    let is_session_of_test = number(id, 6)? == number("self", 6)?;
    Some(Priority { io, session: nice_of_session(id), is_session_of_test, policy: number(id, 41)? })
}

/// The priorities of a run and all its processes while a page is observed.
async fn priorities(arguments: &[&str]) -> BTreeSet<Priority> {
    let _alone = alone().await;
    let page = "<!doctype html><title>Shop</title>".to_owned();
    let sites = Sites::start(&[("shop.test/", page)]).await;
    let watcher = Watcher::new();
    let url = sites.url("shop.test/");
    let mut command = watcher.command(&[&url, "--seconds", "50"]);
    let resolved = format!("shop.test=127.0.0.1:{}", sites.port);
    command.args(arguments).env("INSTALL_CHECK_RESOLVE", resolved);
    // The run of a node ends with its input.
    let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
    wait_until("the page is visited", async || sites.was_asked_for("shop.test/")).await;
    let found = ids(watcher.folder.path());
    assert!(found.len() > 6, "two browsers run: {found:?}");
    let priorities = found.iter().filter(|id| !is_crash_handler(id));
    let priorities = priorities.filter_map(|id| priority(id)).collect();
    drop(running.stdin.take());
    running.kill().await.unwrap();
    let is_clear = async || ids(watcher.folder.path()).is_empty();
    wait_until("the browsers have ended", is_clear).await;
    priorities
}

/// It sleeps until the browser crashes, in a session that it makes.
fn is_crash_handler(id: &str) -> bool {
    let arguments = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).contains("crashpad_handler")
}

#[tokio::test]
async fn all_processes_of_a_nodes_watch_have_the_lowest_priority_and_a_session_of_their_own() {
    let has_groups = Path::new("/proc/self/autogroup").exists();
    let session = if has_groups { "nice 19" } else { "" };
    let lowest = Priority {
        policy: SCHED_IDLE.to_owned(),
        io: "idle".to_owned(),
        session: session.to_owned(),
        is_session_of_test: false,
    };
    assert_eq!(priorities(&["--on-node"]).await, BTreeSet::from([lowest]));
}

#[tokio::test]
async fn a_persons_watch_has_the_priority_of_the_person() {
    let found = priorities(&[]).await;
    let own = |one: &Priority| {
        one.policy == SCHED_OTHER
            && one.io != "idle"
            && one.session == nice_of_session("self")
            && one.is_session_of_test
    };
    assert!(found.iter().all(own), "{found:?}");
}
