//! Strangers who send the most expensive messages they can, while visitors and customers go on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::memory::peak;
use crate::support::process::program;
use crate::support::{App, Process};

const SENDERS: usize = 64;
const ATTACK: Duration = Duration::from_secs(20);
/// Of the answers to others. A debug build reads a message some fifty times slower.
const P99: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_500 } else { 50 });
const MOST_MEMORY_KIB: u64 = 128 * 1024;

/// A whole request: a call of `verify_receipt` whose receipt is as large as this.
fn request(client: usize, receipt: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"verify_receipt","arguments":{{"receipt":{{"a":{receipt}}},"signature":"00"}}}}}}"#
    );
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Client: 198.51.100.{client}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// The most that is looked into, the most that may be sent, and what only an account may send.
fn worst(client: usize) -> [Vec<u8>; 3] {
    let objects = |count: usize| format!("[{}0]", r#"{"":0},"#.repeat(count));
    let padded = format!(
        "[{}{}\"{}\"]",
        r#"{"":0},"#.repeat(2_400),
        "[[],0],".repeat(20),
        "x".repeat(47_000)
    );
    [request(client, &padded), request(client, &objects(9_300)), request(client, &objects(299_000))]
}

/// Sends one message after the other; where the service hangs up, over another connection.
async fn attack(address: String, client: usize, answered: Arc<[AtomicU64; 4]>) {
    let worst = worst(client);
    for message in worst.iter().cycle() {
        let Ok(mut connection) = tokio::net::TcpStream::connect(&address).await else { continue };
        let _ = connection.write_all(message).await;
        let mut answer = [0; 12];
        if connection.read_exact(&mut answer).await.is_ok() {
            let kind = match &answer[9..] {
                b"200" => 0,
                b"400" => 1,
                b"413" => 2,
                _ => 3,
            };
            answered[kind].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Durations of the answers to a request, one after the other on one connection.
fn probe(address: &str, path: &str, until: &AtomicBool) -> Vec<Duration> {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut times = Vec::new();
    let mut answer = vec![0; 256 * 1024];
    while !until.load(Ordering::Relaxed) {
        let sent = Instant::now();
        connection.write_all(request.as_bytes()).unwrap();
        let (mut read, mut whole) = (0, usize::MAX);
        while read < whole {
            let more = connection.read(&mut answer[read..]).unwrap();
            assert!(more > 0, "{path}: the service hung up");
            read += more;
            let text = String::from_utf8_lossy(&answer[..read]).to_lowercase();
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
                let length = head.split("content-length: ").nth(1).expect("a length");
                let length: usize = length.lines().next().unwrap().parse().unwrap();
                whole = head.len() + 4 + length;
            }
        }
        times.push(sent.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    times
}

fn percentile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * part) as usize]
}

/// Probes for as long as `during` takes: the 99th percentile of plans and tag.
async fn probed(address: &str, tag: &str, during: impl Future<Output = ()>) -> [Duration; 2] {
    let over = Arc::new(AtomicBool::new(false));
    let probes = ["/v1/plans", tag].map(|path| {
        let (address, path, over) = (address.to_owned(), path.to_owned(), Arc::clone(&over));
        std::thread::spawn(move || probe(&address, &path, &over))
    });
    during.await;
    over.store(true, Ordering::Relaxed);
    probes.map(|probe| {
        let mut times = probe.join().unwrap();
        let p99 = percentile(&mut times, 0.99);
        eprintln!("  {} answers, p50 {:?}, p99 {p99:?}", times.len(), percentile(&mut times, 0.5));
        p99
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_send_the_worst_messages_slow_nobody_down_and_take_no_memory() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let tag = format!("/px/{}.js", site.pixel_id);
    let mut command = program(&app.database.url);
    command.env("RATE_LIMITS", "on").env("CLIENT_IP_HEADER", "X-Client");
    let service = Process::start(command).await;
    let address = format!("127.0.0.1:{}", service.port());
    eprintln!("without an attack, {} KiB:", peak(service.id()));
    probed(&address, &tag, tokio::time::sleep(Duration::from_secs(3))).await;
    let answered = Arc::new([const { AtomicU64::new(0) }; 4]);
    eprintln!("while {SENDERS} senders attack for {ATTACK:?}:");
    let times = probed(&address, &tag, async {
        let mut senders = tokio::task::JoinSet::new();
        for client in 0..SENDERS {
            senders.spawn(attack(address.clone(), client, Arc::clone(&answered)));
        }
        tokio::time::sleep(ATTACK).await;
    })
    .await;
    let answered = answered.each_ref().map(|count| count.load(Ordering::Relaxed));
    let memory = peak(service.id());
    eprintln!("  answered 200, 400, 413, else: {answered:?}; peak {memory} KiB");
    assert!(answered[..3].iter().all(|&count| count > 50), "{answered:?}");
    assert!(memory < MOST_MEMORY_KIB, "{memory} KiB");
    assert!(times.iter().all(|&p99| p99 < P99), "{times:?}");
}
