//! The listening address of the service, and how local programs find it.

use std::process::Command;

use crate::support::Process;
use crate::support::ports::free_port_of;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{bare_program, program, run, said};
use crate::support::server::client;

async fn is_well(mut command: Command) {
    command.arg("healthcheck");
    assert_eq!(said(&run(command).await), (Some(0), String::new(), String::new()));
}

#[tokio::test]
async fn the_health_check_and_the_base_address_follow_the_listener() {
    let database = TestDatabase::create().await;
    let mut tried = 0;
    for (address, host) in [
        ("127.0.0.1", "localhost"),
        ("127.0.0.2", "127.0.0.2"),
        ("0.0.0.0", "localhost"),
        ("::1", "[::1]"),
        ("::", "localhost"),
    ] {
        let Some(port) = free_port_of(address) else { continue };
        let mut command = program(&database.url);
        command.env("ROCKET_ADDRESS", address).env("ROCKET_PORT", port.to_string());
        let service = Process::start(command).await;
        assert_eq!(service.base, format!("http://{host}:{port}"));
        let answer = client().get(service.url("/healthz")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{address}");
        let mut check = bare_program();
        check.env("ROCKET_ADDRESS", address).env("PORT", port.to_string());
        is_well(check).await;
        // Nothing listens there.
        let mut elsewhere = bare_program();
        elsewhere
            .arg("healthcheck")
            .env("ROCKET_ADDRESS", "127.0.0.3")
            .env("PORT", port.to_string());
        let (code, _, complaint) = said(&run(elsewhere).await);
        if address != "0.0.0.0" && address != "::" {
            assert_eq!(code, Some(1), "{address}");
            let begins = format!("assent: 127.0.0.3:{port} does not answer: ");
            assert!(complaint.starts_with(&begins), "{complaint}");
        }
        tried += 1;
    }
    assert!(tried >= 3, "IPv4 is always there");
}

#[tokio::test]
async fn the_health_check_reads_the_same_settings_file() {
    let database = TestDatabase::create().await;
    let port = free_port_of("127.0.0.2").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("[default]\naddress = \"127.0.0.2\"\nport = {port}\n");
    std::fs::write(folder.path().join("Rocket.toml"), settings).unwrap();
    let mut command = program(&database.url);
    command.env_remove("ROCKET_PORT").current_dir(folder.path());
    let service = Process::start(command).await;
    assert_eq!(service.base, format!("http://127.0.0.2:{port}"));
    let mut check = bare_program();
    check.current_dir(folder.path());
    is_well(check).await;
    let mut check = bare_program();
    is_well({
        check.env("ROCKET_CONFIG", folder.path().join("Rocket.toml"));
        check
    })
    .await;
}

#[tokio::test]
async fn a_listener_that_cannot_be_read_is_named_by_its_setting() {
    for (variable, value) in [("ROCKET_ADDRESS", "localhost"), ("ROCKET_PORT", "many")] {
        let mut command = bare_program();
        command.arg("healthcheck").env(variable, value);
        let (code, _, complaint) = said(&run(command).await);
        assert_eq!(code, Some(1));
        let begins = "assent: the settings of the listener cannot be read: ";
        assert!(complaint.starts_with(begins), "{complaint}");
    }
}

#[tokio::test]
async fn the_metrics_are_announced_at_an_address_that_can_be_opened() {
    let database = TestDatabase::create().await;
    for (address, host) in [("0.0.0.0", "localhost"), ("127.0.0.2", "127.0.0.2"), ("::1", "[::1]")]
    {
        let Some(port) = free_port_of(address) else { continue };
        let listener = match address.contains(':') {
            true => format!("[{address}]:{port}"),
            false => format!("{address}:{port}"),
        };
        let mut command = program(&database.url);
        command.env("METRICS_ADDRESS", listener);
        let mut service = Process::start(command).await;
        let url = format!("http://{host}:{port}/metrics");
        assert_eq!(client().get(&url).send().await.unwrap().status(), 200);
        service.send(nix::sys::signal::Signal::SIGTERM);
        assert_eq!(service.exit_code().await, Some(0));
        assert!(service.log().contains(&format!("metrics      {url}")), "{}", service.log());
    }
}
