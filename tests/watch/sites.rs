//! A server that answers for all sites: the browser is told that every name is this machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Documents by host and path, such as `shop.example/`. `PORT` in them is the server's port. A document that
/// begins with `-> ` is a redirect. Everything else is answered with an empty text.
pub type Documents<'a> = &'a [(&'a str, String)];

/// A running server, until the end of the test.
pub struct Sites {
    pub port: u16,
    requested: Arc<Mutex<Vec<String>>>,
}

impl Sites {
    pub async fn start(documents: Documents<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let documents = documents.iter().map(|(address, text)| {
            ((*address).to_owned(), text.replace("PORT", &port.to_string()))
        });
        let documents = Arc::new(documents.collect::<BTreeMap<_, _>>());
        let requested = Arc::new(Mutex::new(Vec::new()));
        let sites = Self { port, requested: Arc::clone(&requested) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (documents, requested) = (Arc::clone(&documents), Arc::clone(&requested));
                tokio::spawn(async move {
                    let _ = answer(stream, &documents, &requested).await;
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
}

/// Answers one request of a connection.
async fn answer(
    stream: TcpStream,
    documents: &BTreeMap<String, String>,
    requested: &Mutex<Vec<String>>,
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
    let document = documents.get(&address).map(String::as_str);
    requested.lock().unwrap().push(address);
    stream.write_all(response(path, document.unwrap_or_default()).as_bytes()).await?;
    stream.shutdown().await
}

fn response(path: &str, document: &str) -> String {
    if let Some(target) = document.strip_prefix("-> ") {
        return format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    let content = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("events") => "text/event-stream",
        Some("txt") => "text/plain",
        _ => "text/html; charset=utf-8",
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nContent-Length: {}\r\n\
         Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{document}",
        document.len()
    )
}
