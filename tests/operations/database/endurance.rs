//! Long outages of the database, visitors who never finish their requests, and fast starts.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use assent::infra::postgres::Database;
use assent::infra::postgres::dedicated_connection::DedicatedConnection;

use crate::database::durability::site;
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::outage::Road;
use crate::support::process::{Process, program};
use crate::support::server::client;

async fn choose(
    client: &Client,
    service: &Process,
    site: &(String, String),
    who: &str,
) -> Response {
    let choice = json!({
        "pixel_id": site.0, "visitor_id": who, "url": "https://shop.example/",
        "consent": "accepted", "affirmative": true, "policy_version_hash": site.1,
        "purposes": ["resolution"],
    });
    client.post(service.url("/v1/consent/record")).json(&choice).send().await.expect("an answer")
}

async fn check(client: &Client, service: &Process, site: &(String, String), who: &str) -> Response {
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id={who}", site.0);
    client.get(service.url(&path)).send().await.expect("an answer")
}

async fn is_unavailable(response: Response) {
    assert_eq!(response.status(), 503, "{response:?}");
    assert!(response.headers().contains_key("retry-after"));
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem = response.json::<Value>().await.unwrap();
    assert_eq!(problem["detail"], "database unavailable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_gone_for_20_seconds_is_found_again_without_a_restart() {
    let database = TestDatabase::create().await;
    let road = Road::to(&database.url).await;
    let service = Process::start(program(&road.url)).await;
    let client = client();
    let site = site(&service, &client).await;
    assert_eq!(choose(&client, &service, &site, "before").await.status(), 202);

    road.cut();
    let cut = Instant::now();
    let mut refused = 0;
    while cut.elapsed() < Duration::from_secs(20) {
        let who = format!("during-{refused}");
        is_unavailable(choose(&client, &service, &site, &who).await).await;
        is_unavailable(check(&client, &service, &site, "before").await).await;
        refused += 1;
    }
    road.mend();
    let mended = Instant::now();
    while choose(&client, &service, &site, "after").await.status() != 202 {
        assert!(mended.elapsed() < Duration::from_secs(10), "it does not find its database again");
    }
    for (who, reason) in [("before", "ok"), ("after", "ok"), ("during-0", "no_consent_record")] {
        let answer = check(&client, &service, &site, who).await;
        assert_eq!(answer.json::<Value>().await.unwrap()["reason"], reason, "{who}");
    }
}

/// Lets this process open as many files as the machine allows it.
fn may_open_many_files() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

/// A connection that sends the beginning of a request, then a byte every second.
async fn drip(address: String, beginning: &'static str) {
    let mut stream = TcpStream::connect(address).await.expect("it accepts");
    stream.write_all(beginning.as_bytes()).await.expect("it listens");
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_idle_and_dripping_sockets_lock_nobody_out() {
    may_open_many_files();
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    // The default limit of many systems.
    limit_files(&mut command, 1024);
    let service = Process::start(command).await;
    let client = client();
    let site = site(&service, &client).await;
    let address = format!("127.0.0.1:{}", service.port());
    let idle = join_all((0..1_000).map(|_| TcpStream::connect(&address))).await;
    let idle = idle.into_iter().collect::<Result<Vec<_>, _>>().expect("it accepts");
    let dripping = (0..1_000).map(|number| {
        let beginning = match number % 2 {
            0 => "GET /healthz HTTP/1.1\r\nX-Slow: ",
            _ => "POST /v1/consent/record HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n",
        };
        tokio::spawn(drip(address.clone(), beginning))
    });
    let dripping = dripping.collect::<Vec<_>>();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut waits = Vec::new();
    for turn in 0..20 {
        let started = Instant::now();
        // A connection of its own each time.
        let honest = crate::support::server::client();
        let who = format!("visitor-{turn}");
        assert_eq!(choose(&honest, &service, &site, &who).await.status(), 202);
        assert_eq!(check(&honest, &service, &site, &who).await.status(), 200);
        waits.push(started.elapsed());
    }
    // The tests beside this one may take a moment of the processor.
    waits.sort_unstable();
    assert!(waits[10] < Duration::from_secs(2), "honest visitors wait too long: {waits:?}");
    dripping.iter().for_each(tokio::task::JoinHandle::abort);
    drop(idle);
}

/// Starts the program with room for so many files, and leave to ask for more.
fn limit_files(command: &mut std::process::Command, soft: u64) {
    let program = command.get_program().to_owned();
    let wrapped = std::mem::replace(command, std::process::Command::new("/bin/sh"));
    command.env_clear();
    for (name, value) in wrapped.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let start = format!("ulimit -S -n {soft} && exec \"$0\" serve");
    command.arg("-c").arg(start).arg(program).current_dir(std::env::temp_dir());
    command.stdin(std::process::Stdio::null());
}

/// The time that processors have spent on a process, all threads together.
fn processor_time(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    // Counted from the state, which follows the program's name in brackets: utime and stime, in hundredths of a second.
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let hundredths =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(10 * hundredths.sum::<u64>())
}

/// Of the processor's time: what passes on the clock says more of the tests beside this one. A build for tests
/// has taken 1.2 s of it on a machine whose processors others used too.
#[tokio::test]
async fn on_a_migrated_database_it_starts_with_less_than_two_seconds_of_work() {
    let database = TestDatabase::create().await;
    let mut starts = Vec::new();
    for _ in 0..3 {
        let service = Process::start(program(&database.url)).await;
        let health = client().get(service.url("/healthz")).send().await.unwrap();
        assert_eq!(health.status(), 200);
        starts.push(processor_time(service.id()));
    }
    // The first one migrates.
    assert!(starts[1..].iter().any(|&start| start < Duration::from_secs(2)), "{starts:?}");
}

#[tokio::test]
async fn a_reused_connection_is_not_one_that_has_just_died() {
    let database = TestDatabase::create().await;
    let road = Road::to(&database.url).await;
    let database = Database::connect(&road.url).unwrap();
    let pool = &database.pool;
    let used = join_all((0..5).map(|_| pool.acquire())).await;
    drop(used);
    while pool.num_idle() < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    road.cut();
    road.mend();
    let mut kept = DedicatedConnection::new(&database);
    let live = kept.get().await.unwrap();
    sqlx::query("SELECT 1").execute(&mut live.connection).await.unwrap();
}
