//! A server that answers for all sites: the browser is told that every name is this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

/// Documents by host and path, such as `shop.example/`. `PORT` in them is the server's port, and `RANDOM` a value
/// made for each answer. A document that begins with `-> ` is a redirect. Lines at its start that begin with `+ `
/// are further headers; `+ Status: 404 Not Found` is another status. Everything else is answered with an empty text.
pub type Documents<'a> = &'a [(&'a str, String)];

/// A running server, until the end of the test.
pub struct Sites {
    pub port: u16,
    requested: Arc<Mutex<Vec<String>>>,
    /// The requests among them with `Sec-GPC: 1`.
    with_gpc: Arc<Mutex<Vec<String>>>,
}

/// A WebSocket.
pub const SOCKET: &str = "=socket";

impl Sites {
    pub async fn start(documents: Documents<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let documents = documents.iter().map(|(address, text)| {
            ((*address).to_owned(), text.replace("PORT", &port.to_string()))
        });
        let documents = Arc::new(documents.collect::<BTreeMap<_, _>>());
        let requested = Arc::new(Mutex::new(Vec::new()));
        let with_gpc = Arc::<Mutex<Vec<String>>>::default();
        let sites =
            Self { port, requested: Arc::clone(&requested), with_gpc: Arc::clone(&with_gpc) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let documents = Arc::clone(&documents);
                let (requested, with_gpc) = (Arc::clone(&requested), Arc::clone(&with_gpc));
                tokio::spawn(async move {
                    let _ = answer(stream, &documents, &requested, &with_gpc).await;
                });
            }
        });
        sites
    }

    pub fn url(&self, address: &str) -> String {
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        format!("http://{host}:{}/{path}", self.port)
    }

    /// Whether this address was requested, by host and path without query.
    pub fn was_asked_for(&self, address: &str) -> bool {
        self.requested.lock().unwrap().iter().any(|known| known == address)
    }

    /// How often this address was requested with Global Privacy Control, and how often without.
    pub fn counts_by_gpc(&self, address: &str) -> (usize, usize) {
        let count = |list: &Mutex<Vec<String>>| {
            list.lock().unwrap().iter().filter(|known| *known == address).count()
        };
        let with = count(&self.with_gpc);
        (with, count(&self.requested) - with)
    }

    /// All hosts that were asked for anything.
    pub fn asked(&self) -> BTreeSet<String> {
        let requested = self.requested.lock().unwrap();
        let hosts = requested.iter().filter_map(|address| address.split('/').next());
        hosts.map(str::to_owned).collect()
    }
}

/// Answers one request of a connection.
async fn answer(
    stream: TcpStream,
    documents: &BTreeMap<String, String>,
    requested: &Mutex<Vec<String>>,
    with_gpc: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head).await? == 0 {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    };
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    stream.read_exact(&mut vec![0; length]).await?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let host = header("host").unwrap_or_default().split(':').next().unwrap_or_default();
    let address = format!("{host}{path}");
    let document = documents.get(&address).map(String::as_str).unwrap_or_default();
    requested.lock().unwrap().push(address.clone());
    if header("sec-gpc") == Some("1") {
        with_gpc.lock().unwrap().push(address);
    }
    if let (SOCKET, Some(key)) = (document, header("sec-websocket-key")) {
        return socket(stream, key).await;
    }
    let document = document.replace("RANDOM", &hex::encode(rand::random::<[u8; 16]>()));
    stream.write_all(response(path, &document).as_bytes()).await?;
    stream.shutdown().await
}

/// Answers the handshake of a WebSocket, and reads what it sends.
async fn socket(mut stream: BufReader<TcpStream>, key: &str) -> std::io::Result<()> {
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let accept = "import base64, hashlib, sys; key = sys.argv[1] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'; \
                  print(base64.b64encode(hashlib.sha1(key.encode()).digest()).decode(), end='')";
    let accepted = Command::new(python).args(["-c", accept, key]).output().await?;
    let accepted = String::from_utf8_lossy(&accepted.stdout).into_owned();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accepted}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    let mut received = [0; 1024];
    while stream.read(&mut received).await? > 0 {}
    Ok(())
}

fn response(path: &str, document: &str) -> String {
    let (mut status, mut headers, mut body) = ("200 OK", String::new(), document);
    while let Some(rest) = body.strip_prefix("+ ") {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        match line.strip_prefix("Status: ") {
            Some(other) => status = other.trim(),
            None => headers.extend([line.trim(), "\r\n"]),
        }
        body = after.trim_start_matches(' ');
    }
    if let Some(target) = body.strip_prefix("-> ") {
        return format!(
            "HTTP/1.1 302 Found\r\n{headers}Location: {target}\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
    }
    let content = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("events") => "text/event-stream",
        Some("txt") => "text/plain",
        Some("bin") => "application/octet-stream",
        _ => "text/html; charset=utf-8",
    };
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Type: {content}\r\nContent-Length: {}\r\n\
         Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
