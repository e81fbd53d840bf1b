//! Signals to a service with an embedded PostgreSQL: a signal that ends the service also stops its
//! database.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::support::postgres::own_postgres::Folder;
use crate::support::server::client;
use crate::support::{MailServer, fresh_address};

/// Long enough for a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

fn pid_of(process: &Child) -> Pid {
    Pid::from_raw(process.id().expect("it runs").try_into().unwrap())
}

/// Whether any process has the folder in its command line.
fn is_named_by_a_process(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default())
        .any(|line| String::from_utf8_lossy(&line).split('\0').any(|part| part.contains(folder)))
}

async fn nothing_is_left(folder: &Folder) {
    let began = Instant::now();
    while is_named_by_a_process(folder.path()) {
        assert!(began.elapsed() < TIME_LIMIT, "a process still works in the folder");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn signals_that_request_an_end_stop_service_and_database_in_order() {
    for signal in [Signal::SIGQUIT, Signal::SIGINT, Signal::SIGXCPU] {
        let folder = Folder::open();
        let mut service = folder.start().await;
        assert!(folder.server_runs());
        // Sent to the whole process group, as a terminal does.
        killpg(service.pid(), signal).unwrap();
        assert!(service.process.wait().await.unwrap().success(), "{signal}");
        assert!(!folder.server_runs(), "{signal}");
        nothing_is_left(&folder).await;
    }
}

#[tokio::test]
async fn signals_that_do_not_request_an_end_are_ignored() {
    let folder = Folder::open();
    let service = folder.start().await;
    let signals = [
        Signal::SIGHUP,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGALRM,
        Signal::SIGVTALRM,
        Signal::SIGPROF,
        Signal::SIGIO,
        Signal::SIGPWR,
        Signal::SIGSTKFLT,
        Signal::SIGXFSZ,
    ];
    for signal in signals {
        killpg(service.pid(), signal).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let name = signal.as_str().to_lowercase();
        service.sign_up(&format!("{name}@shop.example")).await.expect(201);
    }
    // Real-time signals have no names in `nix`.
    for signal in [libc::SIGRTMIN(), libc::SIGRTMAX()] {
        let number = format!("-{signal}");
        let sent = Command::new("kill").args([&number, &service.pid().to_string()]).status();
        assert!(sent.await.unwrap().success());
        tokio::time::sleep(Duration::from_millis(100)).await;
        service.sign_up(&format!("real-time{signal}@shop.example")).await.expect(201);
    }
    service.stop().await;
    assert!(!folder.server_runs());
}

#[tokio::test]
async fn a_signal_during_the_start_ends_it_and_leaves_nothing_behind() {
    for (signal, pause) in [(Signal::SIGTERM, 100), (Signal::SIGQUIT, 700), (Signal::SIGINT, 1_500)]
    {
        let folder = Folder::open();
        let mut process = folder.command(&["serve"]).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        kill(pid_of(&process), signal).unwrap();
        let status = tokio::time::timeout(TIME_LIMIT, process.wait()).await.unwrap().unwrap();
        // A signal in the first moments may arrive before the handlers are installed.
        assert!(status.success() || status.code().is_none(), "{signal}: {status}");
        nothing_is_left(&folder).await;
        let service = folder.start().await;
        service.sign_up("ann@shop.example").await.expect(201);
        service.stop().await;
    }
}

#[tokio::test]
async fn a_command_that_is_stopped_stops_its_database() {
    let folder = Folder::open();
    folder.start().await.stop().await;
    for signal in [Signal::SIGTERM, Signal::SIGQUIT] {
        let mut process = folder.command(&["migrate"]).spawn().unwrap();
        let began = Instant::now();
        while !folder.server_runs() && process.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < TIME_LIMIT);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let _ = kill(pid_of(&process), signal);
        tokio::time::timeout(TIME_LIMIT, process.wait()).await.unwrap().unwrap();
        nothing_is_left(&folder).await;
    }
}

#[tokio::test]
async fn a_start_that_fails_stops_its_database() {
    let folder = Folder::open();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = folder.command(&["serve"]);
    let status = command.env("ROCKET_PORT", port).status().await.unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(!folder.server_runs());
    nothing_is_left(&folder).await;
}

#[tokio::test]
async fn a_second_signal_interrupts_nothing() {
    let folder = Folder::open();
    let mut command = folder.command(&["serve"]);
    command.env("SMTP_URL", &MailServer::shared().url);
    let mut service = folder.started(command).await;
    // The mail server answers after two seconds.
    let body = json!({"email": fresh_address("pause"), "display_name": "Ann"});
    let request = client().post(format!("{}/v1/accounts", service.base)).json(&body);
    let in_flight = tokio::spawn(request.send());
    // The request is in flight after this time.
    tokio::time::sleep(Duration::from_millis(700)).await;
    for signal in [Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGINT, Signal::SIGHUP] {
        kill(service.pid(), signal).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(in_flight.await.unwrap().expect("it is answered").status(), 201);
    assert!(service.process.wait().await.unwrap().success());
    assert!(!folder.server_runs());
}
