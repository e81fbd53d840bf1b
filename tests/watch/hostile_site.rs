//! A server that answers for all sites, and resists: answers that are huge or never end, endless redirects, downloads,
//! a request for a password, and another page for each opening.

use std::future::pending;
use std::io::Result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

const HOST: &str = "hostile.localhost";
const MIB: usize = 1 << 20;
/// The size of huge answers, in MiB.
const HUGE: usize = 1024;
const PLAIN: &str = "<!doctype html><title>Page</title>";
const WINDOW: &str =
    "<!doctype html><script>open('/window?b'); open('/window?c'); setTimeout(close, 200)</script>";
/// A service worker that answers every request of the pages that it controls.
const WORKER: &str = "addEventListener('install', () => skipWaiting());
    addEventListener('fetch', (event) => event.respondWith(new Response('Other',
        {headers: {'Content-Type': 'text/html'}})))";

#[derive(Default)]
struct State {
    /// The pages for the first opening, the second one and so on; the last one for all others.
    pages: Vec<String>,
    openings: AtomicUsize,
    downloaded: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

/// A running server, until the end of the test.
pub struct HostileSite {
    pub port: u16,
    state: Arc<State>,
}

impl HostileSite {
    /// Starts a server with these pages, in which `PORT` is its port.
    pub async fn start(pages: &[String]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages = pages.iter().map(|page| page.replace("PORT", &port.to_string())).collect();
        let site = Self { port, state: Arc::new(State { pages, ..State::default() }) };
        let state = Arc::clone(&site.state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                // A browser that has enough closes the connection.
                tokio::spawn(async move { answer(stream, &state).await });
            }
        });
        site
    }

    pub fn url(&self) -> String {
        format!("http://{HOST}:{}/", self.port)
    }

    /// The URL of a page that does nothing.
    pub fn plain_url(&self) -> String {
        format!("http://plain.localhost:{}/", self.port)
    }

    /// Whether a path of the hostile page was requested.
    pub fn was_asked_for(&self, path: &str) -> bool {
        self.state.asked.lock().unwrap().iter().any(|known| known == path)
    }

    /// Bytes of downloads that were sent.
    pub fn downloaded(&self) -> usize {
        self.state.downloaded.load(Ordering::Relaxed)
    }
}

fn head(status: &str, lines: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{lines}Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n"
    );
    head.into_bytes()
}

fn whole(content: &str, body: &str) -> Vec<u8> {
    let head = head("200 OK", &format!("Content-Type: {content}\r\n"));
    [&head[..], body.as_bytes()].concat()
}

/// A MiB of zeros as a part of a DEFLATE stream that can be repeated.
fn deflated() -> Vec<u8> {
    let mut compress = Compress::new(Compression::best(), false);
    let mut part = Vec::with_capacity(64 * 1024);
    compress.compress_vec(&vec![0_u8; MIB], &mut part, FlushCompress::Full).unwrap();
    assert_eq!(compress.total_in(), MIB as u64);
    part
}

/// Reads a request, and returns its host and path.
async fn request(stream: &mut BufReader<TcpStream>) -> Result<(String, String)> {
    let (mut first, mut host) = (String::new(), String::new());
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? <= 2 {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            host = value.trim().split(':').next().unwrap_or_default().to_owned();
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    Ok((host, path.split('?').next().unwrap_or_default().to_owned()))
}

async fn answer(stream: TcpStream, state: &State) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let (host, path) = request(&mut stream).await?;
    if host == HOST {
        state.asked.lock().unwrap().push(path.clone());
    }
    match path.as_str() {
        "/" if host == HOST => {
            let opening = state.openings.fetch_add(1, Ordering::Relaxed);
            let page = state.pages.get(opening).or(state.pages.last()).unwrap();
            stream.write_all(&whole("text/html; charset=utf-8", page)).await?;
        }
        "/window" => stream.write_all(&whole("text/html", WINDOW)).await?,
        "/service.js" => stream.write_all(&whole("text/javascript", WORKER)).await?,
        "/loop" => stream.write_all(&head("302 Found", "Location: /loop\r\n")).await?,
        "/password" => {
            let asks = "WWW-Authenticate: Basic realm=\"Shop\"\r\n";
            stream.write_all(&head("401 Unauthorized", asks)).await?;
        }
        "/silent" => pending().await,
        "/dripping" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                stream.write_all(b"X-More: to come\r\n").await?;
                sleep(Duration::from_millis(100)).await;
            }
        }
        "/endless" => {
            stream.write_all(&whole("image/png", "")).await?;
            loop {
                stream.write_all(&[0; 1024]).await?;
                sleep(Duration::from_millis(50)).await;
            }
        }
        "/download" => {
            let lines = "Content-Disposition: attachment; filename=\"x.bin\"\r\n";
            stream.write_all(&head("200 OK", lines)).await?;
            for _ in 0..HUGE {
                stream.write_all(&vec![0_u8; MIB]).await?;
                state.downloaded.fetch_add(MIB, Ordering::Relaxed);
                sleep(Duration::from_millis(10)).await;
            }
        }
        "/big" => repeated(&mut stream, &whole("text/plain", ""), &vec![b'x'; MIB]).await?,
        "/bomb" => {
            let head = head("200 OK", "Content-Type: text/plain\r\nContent-Encoding: deflate\r\n");
            // A stream of zlib begins with these two bytes.
            repeated(&mut stream, &[&head[..], &[0x78, 0x9c]].concat(), &deflated()).await?;
        }
        _ => stream.write_all(&whole("text/html", PLAIN)).await?,
    }
    stream.shutdown().await
}

async fn repeated(stream: &mut BufReader<TcpStream>, start: &[u8], part: &[u8]) -> Result<()> {
    stream.write_all(start).await?;
    for _ in 0..HUGE {
        stream.write_all(part).await?;
    }
    Ok(())
}
