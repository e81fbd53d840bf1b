//! A node that answers what the test wants, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer to every request.
#[derive(Clone, Copy, Debug)]
pub enum Conduct {
    /// An answer with this status line and body.
    Answers(&'static str, &'static str),
    /// The connection ends once the request has been read.
    BreaksOff,
    /// Nothing, for this long, then the connection ends.
    Hangs(Duration),
}

/// A node in this process; it ends with the test.
pub struct FakeNode {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl FakeNode {
    pub async fn start(conduct: Conduct) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (heard, accepted) = (Arc::clone(&requests), Arc::clone(&connections));
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(socket, conduct, Arc::clone(&heard)));
            }
        });
        Self { address, requests, connections, listening }
    }

    /// The heads of the requests so far, in lower case.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Reads head and body of each request; `None` at the end of the connection.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    socket.read_exact(&mut body).await.ok()?;
    Some(head)
}

async fn serve(mut socket: TcpStream, conduct: Conduct, heard: Arc<Mutex<Vec<String>>>) {
    while let Some(head) = read_request(&mut socket).await {
        heard.lock().unwrap().push(head);
        match conduct {
            Conduct::Answers(status, body) => {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nRetry-After: 7\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                if socket.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
            Conduct::BreaksOff => return,
            Conduct::Hangs(pause) => return tokio::time::sleep(pause).await,
        }
    }
}
