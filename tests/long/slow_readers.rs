//! Slowly read exports, and uploads that never complete their form: neither occupies the memory of a
//! node.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::memory::{forget_peak, peak};
use crate::support::console::token_of;
use crate::support::process::program;
use crate::support::{Account, App, Process};

const ACCOUNTS: usize = 20;
const READERS_EACH: usize = 2;
const UPLOADS: usize = 40;
/// KiB per reader: a chunk, its source data, and the connection.
const MOST_PER_READER: u64 = 2 << 10;
const MOST_PER_UPLOAD: u64 = 512;

async fn account_with_long_policies(app: &App, number: usize) -> (Account, String) {
    let account = app.account(&format!("ann{number}@example.com")).await;
    let site = app.consent_site(&account.key, &format!("site{number}.example")).await;
    sqlx::query(
        "INSERT INTO consent_policies (pixel_id, version, policy_hash, document, domain,
             published_at, account_id, consent_days)
         SELECT pixel_id, version + number, 'hash-' || number,
             left(document, -1) || ',\"padding\":\"' || repeat('x', 60000) || '\"}', domain,
             published_at, account_id, consent_days
         FROM consent_policies, generate_series(1, 300) AS number WHERE pixel_id = $1",
    )
    .bind(&site.pixel_id)
    .execute(&app.pool)
    .await
    .unwrap();
    (account, site.pixel_id)
}

/// A connection with a small window, on which only the head of a response was read.
async fn slow_reader(service: &Process, path: &str, key: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let address = format!("127.0.0.1:{}", service.port()).parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_of_exports_hold_little_memory() {
    let app = App::spawn().await;
    let mut accounts = Vec::new();
    for number in 0..ACCOUNTS {
        accounts.push(account_with_long_policies(&app, number).await);
    }
    let service = Process::start(program(&app.database.url)).await;
    // Memory that one export allocates permanently is not counted.
    let (first, pixel) = &accounts[0];
    drop(slow_reader(&service, &format!("/v1/pixels/{pixel}/consent/export"), &first.key).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    forget_peak(service.id());
    let before = peak(service.id());
    let mut readers = Vec::new();
    for (account, pixel) in &accounts {
        let consent = format!("/v1/pixels/{pixel}/consent/export");
        for path in [&*consent, "/v1/account/export"] {
            readers.push(slow_reader(&service, path, &account.key).await);
        }
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let more = peak(service.id()).saturating_sub(before);
    eprintln!("{} slow readers: {more} KiB", readers.len());
    assert_eq!(readers.len(), ACCOUNTS * READERS_EACH);
    assert!(more < readers.len() as u64 * MOST_PER_READER, "{more} KiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_without_a_boundary_hold_little_memory() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let token = token_of(&browser.page("/console/account/suppressed").await);
    let cookie = format!("assent-session={}", browser.session().unwrap());
    let service = Process::start(program(&app.database.url)).await;
    let field = |name: &str, text: &str| {
        format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let before_file = field("form_token", &token) + &field("word", "never");
    let endless_head =
        format!("{before_file}--edge\r\nContent-Disposition: form-data; name=\"file");
    let forget = peak(service.id());
    forget_peak(service.id());
    let before = peak(service.id()).min(forget);
    let uploads = (0..UPLOADS).map(async |number| {
        let beginning = if number % 2 == 0 { "" } else { &endless_head };
        let body = format!("{beginning}{}", "x".repeat(15 << 20));
        let port = service.port();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
        let head = format!(
            "POST /console/account/suppressed/import HTTP/1.1\r\nHost: localhost:{port}\r\n\
             Origin: http://localhost:{port}\r\nCookie: {cookie}\r\n\
             Content-Type: multipart/form-data; boundary=edge\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The service may respond and close the connection before everything is sent.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 400");
    });
    join_all(uploads).await;
    let more = peak(service.id()).saturating_sub(before);
    eprintln!("{UPLOADS} uploads: {more} KiB");
    assert!(more < UPLOADS as u64 * MOST_PER_UPLOAD, "{more} KiB");
}
