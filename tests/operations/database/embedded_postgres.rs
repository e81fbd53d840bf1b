//! The service with a PostgreSQL of its own: the program as people start it, in folders of every
//! kind. What was stored shows over HTTP: an address signs up once only.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, geteuid};
use tokio::process::Command;

use crate::support::Answer;
use crate::support::postgres::own_postgres::{Folder, PROGRAM, Service, outcome};
use crate::support::server::client;

/// Signs up, and again after `interrupt` has ended the service and it was started anew.
async fn data_survive<F: Future<Output = ()>>(folder: &Folder, interrupt: impl Fn(Service) -> F) {
    let first = folder.start().await;
    first.sign_up("ann@shop.example").await.expect(201);
    interrupt(first).await;
    let second = folder.start().await;
    second.sign_up("ann@shop.example").await.refused(409, "email already registered");
    second.sign_up("bob@shop.example").await.expect(201);
    second.stop().await;
    assert!(!folder.server_runs(), "the database stops with the service");
}

#[tokio::test]
async fn data_survive_a_restart() {
    data_survive(&Folder::open(), Service::stop).await;
}

#[tokio::test]
async fn data_survive_kill_nine_and_the_leftover_server_is_dealt_with() {
    data_survive(&Folder::open(), Service::kill).await;
}

#[tokio::test]
async fn data_survive_kill_nine_of_the_service_and_its_database() {
    let folder = Folder::open();
    data_survive(&folder, |service| async {
        let pid_file = fs::read_to_string(folder.home().join("data/postmaster.pid")).unwrap();
        let server = Pid::from_raw(pid_file.lines().next().unwrap().parse().unwrap());
        service.kill().await;
        kill(server, Signal::SIGKILL).unwrap();
    })
    .await;
}

#[tokio::test]
async fn ctrl_c_ends_the_service_and_then_its_database() {
    let folder = Folder::open();
    let mut service = folder.start().await;
    killpg(service.pid(), Signal::SIGINT).unwrap();
    assert!(service.process.wait().await.unwrap().success());
    assert!(!folder.server_runs());
}

#[tokio::test]
async fn two_services_in_two_folders_know_nothing_of_each_other() {
    let (one, other) = (Folder::open(), Folder::open());
    let (first, second) = tokio::join!(one.start(), other.start());
    first.sign_up("ann@shop.example").await.expect(201);
    second.sign_up("ann@shop.example").await.expect(201);
    first.stop().await;
    second.sign_up("ann@shop.example").await.refused(409, "email already registered");
    second.stop().await;
}

#[tokio::test]
async fn a_second_service_in_one_folder_says_that_one_is_running() {
    let folder = Folder::open();
    let running = folder.start().await;
    let (code, said) = folder.refused().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is already running on the data in"), "{said}");
    assert!(said.contains(&format!("process {}", running.pid())), "{said}");
    running.sign_up("ann@shop.example").await.expect(201);
    running.stop().await;
}

#[tokio::test]
async fn commands_work_beside_a_running_service_and_without_one() {
    let folder = Folder::open();
    let make_key = ["unlimited-key", "ops@shop.example"];
    let running = folder.start().await;
    let beside = folder.command(&make_key).output().await.unwrap();
    assert!(beside.status.success(), "{}", String::from_utf8_lossy(&beside.stderr));
    let key = String::from_utf8(beside.stdout).unwrap();
    let whoami = client().get(format!("{}/v1/whoami", running.base)).bearer_auth(key.trim());
    Answer::of(whoami).await.expect(200);
    running.stop().await;
    let (mut one, mut other) = (folder.command(&make_key), folder.command(&make_key));
    let (one, other) = tokio::join!(one.output(), other.output());
    for output in [one.unwrap(), other.unwrap()] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!folder.server_runs());
}

#[tokio::test]
async fn root_may_start_it_in_a_folder_that_nobody_else_may_enter() {
    if !geteuid().is_root() {
        return eprintln!("skipped: needs root");
    }
    let folder = Folder::with_mode(0o700);
    data_survive(&folder, Service::kill).await;
    assert!(folder.home().starts_with("/var/lib/assent"), "{}", folder.home().display());
}

#[tokio::test]
async fn an_ordinary_user_may_start_it() {
    let folder = Folder::of_an_ordinary_user();
    data_survive(&folder, Service::kill).await;
    assert!(folder.home().starts_with(folder.path().canonicalize().unwrap()));
}

#[tokio::test]
async fn root_may_start_it_on_the_data_of_an_ordinary_user_and_then_that_user_again() {
    if !geteuid().is_root() {
        return eprintln!("skipped: needs root");
    }
    let mut folder = Folder::of_an_ordinary_user();
    data_survive(&folder, Service::stop).await;
    let user = folder.user.take();
    let as_root = folder.start().await;
    as_root.sign_up("ann@shop.example").await.refused(409, "email already registered");
    as_root.stop().await;
    folder.user = user;
    let as_user = folder.start().await;
    as_user.sign_up("ann@shop.example").await.refused(409, "email already registered");
    as_user.stop().await;
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_does_no_harm() {
    let folder = Folder::open();
    let deep = folder.path().join("a-folder-with-a-long-name/".repeat(6));
    fs::create_dir_all(&deep).unwrap();
    let mut command = folder.command(&["migrate"]);
    command.current_dir(&deep);
    let (code, said) = outcome(command).await;
    assert_eq!(code, Some(0), "{said}");
}

/// The program in a root directory that holds nothing but itself and the libraries it is linked
/// with: a machine without PostgreSQL.
#[tokio::test]
async fn without_postgres_one_sentence_names_both_remedies() {
    let machine = Folder::open();
    machine.copy_program();
    copy_libraries(machine.path());
    let mut command = match geteuid().is_root() {
        true => Command::new("chroot"),
        false => Command::new("unshare"),
    };
    if !geteuid().is_root() {
        command.args(["--map-root-user", "chroot"]);
    }
    command.arg(machine.path()).args(["/assent", "serve"]).env_remove("DATABASE_URL");
    let (code, said) = outcome(command).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("No PostgreSQL was found"), "{said}");
    assert!(said.contains("install the PostgreSQL server package"), "{said}");
    assert!(said.contains("or set DATABASE_URL"), "{said}");
    assert!(!machine.path().join(".data").exists(), "nothing is left behind");
}

/// Copies the libraries that `ldd` names to the same paths under `root`.
fn copy_libraries(root: &Path) {
    let output = std::process::Command::new("ldd").arg(PROGRAM).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for library in text.split_whitespace().filter(|word| word.starts_with('/')) {
        let target = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(library, target).unwrap();
    }
}
