//! Witnesses of the log: one in this process that can be told to behave badly, and the program's own.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use assent::clock::Clock;
use assent::proof::format::cosignature::{Cosigner, CosigningKey};
use assent::proof::format::note::{Note, NoteSigner, Verifier};
use assent::proof::witness::{Answer, LogWitness};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::log::LOG_KEY;
use crate::support::process::{Process, bare_program};

/// The key of the log of all tests.
pub fn log_key() -> Verifier {
    log_signer().verifier().clone()
}

pub fn log_signer() -> NoteSigner {
    signer_of("localhost/log")
}

fn signer_of(origin: &str) -> NoteSigner {
    NoteSigner::new(origin, &hex::decode(LOG_KEY.1).unwrap()).unwrap()
}

/// How a witness behaves.
#[derive(Clone, Debug)]
pub enum Mode {
    Honest,
    /// Closes every connection.
    Away,
    /// Takes what it is sent and says nothing.
    Silent,
    /// Answers to each checkpoint with this status and this text.
    Says(u16, String),
    /// Cosigns everything, with a time that is wrong by this number of seconds.
    Hasty(i64),
    /// Shows nothing, and has seen this number of entries.
    Claims(u64),
    /// Cosigns as it should and shows nothing to anybody.
    Closed,
}

/// A witness that is asked over HTTP.
#[derive(Clone)]
pub struct Witness {
    pub name: String,
    pub url: String,
    seed: [u8; 32],
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    seed: [u8; 32],
    name: String,
    honest: LogWitness,
    mode: Mutex<Mode>,
    asked: Mutex<Vec<String>>,
    _folder: tempfile::TempDir,
}

impl Witness {
    pub async fn start(name: &str, clock: &Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut seed = [7; 32];
        seed[..name.len()].copy_from_slice(name.as_bytes());
        let key = CosigningKey::new(name, &seed).unwrap();
        let later = signer_of("localhost/log/2").verifier().clone();
        let logs = vec![log_key(), later];
        let honest = LogWitness::open(key, clock.clone(), logs, folder.path()).unwrap();
        let (clock, name) = (clock.clone(), name.to_owned());
        let mode = Mutex::new(Mode::Honest);
        let asked = Mutex::default();
        let inner = Inner { clock, seed, name: name.clone(), honest, mode, asked, _folder: folder };
        let inner = Arc::new(inner);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/w", listener.local_addr().unwrap());
        let serving = Arc::clone(&inner);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(Arc::clone(&serving).serve(stream));
            }
        });
        Self { name, url, seed, inner }
    }

    pub fn behave(&self, mode: Mode) {
        *self.inner.mode.lock().unwrap() = mode;
    }

    /// The line of a policy.
    pub fn line(&self) -> String {
        format!("witness {} {} {}\n", self.name, self.cosigner(), self.url)
    }

    pub fn cosigner(&self) -> Cosigner {
        CosigningKey::new(&self.name, &self.seed).unwrap().cosigner().clone()
    }

    /// The requests that it received.
    pub fn asked(&self) -> Vec<String> {
        self.inner.asked.lock().unwrap().clone()
    }

    /// The checkpoint of the tests' log that it cosigned last.
    pub fn last(&self) -> Option<String> {
        self.inner.honest.checkpoint(&hash_of("localhost/log"))
    }

    pub fn has_cosigned(&self, note: &str) -> bool {
        has_cosigned(&self.cosigner(), note)
    }
}

/// By which a witness names a log in addresses.
pub fn hash_of(origin: &str) -> String {
    use sha2::Digest;
    hex::encode(sha2::Sha256::digest(origin))
}

/// Whether a note carries the key's cosignature. One that is wrong fails.
pub fn has_cosigned(key: &Cosigner, note: &str) -> bool {
    key.time_of(&Note::parse(note).unwrap()).unwrap().is_some()
}

impl Inner {
    async fn serve(self: Arc<Self>, mut stream: TcpStream) -> Option<()> {
        let (head, body) = read_request(&mut stream).await.ok()?;
        let line = head.lines().next()?.to_owned();
        let mode = self.mode.lock().unwrap().clone();
        self.asked.lock().unwrap().push(line.clone());
        let is_get = line.starts_with("GET ");
        let none = || (404, "text/plain", "nothing\n".to_owned());
        let (status, kind, text) = match mode {
            Mode::Away => return None,
            Mode::Silent => {
                tokio::time::sleep(std::time::Duration::from_secs(300)).await;
                return None;
            }
            Mode::Claims(_) | Mode::Closed if is_get => none(),
            Mode::Claims(size) => (409, "text/x.tlog.size", format!("{size}\n")),
            Mode::Says(status, text) if !is_get => (status, "text/plain", text),
            Mode::Hasty(seconds) if !is_get => {
                let (_, checkpoint) = body.split_once("\n\n")?;
                let text = Note::parse(checkpoint).ok()?.text.to_owned();
                let at = self.clock.now().timestamp() + seconds;
                let key = CosigningKey::new(&self.name, &self.seed)?;
                (200, "text/plain", key.cosign(&text, u64::try_from(at).ok()?))
            }
            _ if is_get => {
                let name = line.split(' ').nth(1)?.strip_prefix("/w/")?;
                let note = self.honest.checkpoint(name.strip_suffix("/checkpoint")?);
                note.map_or_else(none, |note| (200, "text/plain", note))
            }
            _ => self.evaluate(&body),
        };
        let length = text.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        );
        stream.write_all(answer.as_bytes()).await.ok()?;
        stream.shutdown().await.ok()
    }

    fn evaluate(&self, body: &str) -> (u16, &'static str, String) {
        let text = "text/plain";
        match self.honest.add_checkpoint(body.as_bytes()).unwrap() {
            Answer::Cosigned(line) => (200, text, line),
            Answer::Malformed => (400, text, String::new()),
            Answer::UnknownLog => (404, text, String::new()),
            Answer::Unsigned => (403, text, String::new()),
            Answer::OtherSize(size) => (409, "text/x.tlog.size", format!("{size}\n")),
            Answer::OtherRoot => (409, text, String::new()),
            Answer::Inconsistent => (422, text, String::new()),
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> io::Result<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()).unwrap_or("0");
            if body.len() >= length.trim().parse().unwrap_or(0) {
                return Ok((head.to_owned(), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// A file with a policy.
pub fn policy_file(folder: &Path, text: &str) -> String {
    let file = folder.join("witnesses");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The seed of the witness that is a process of its own.
const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// `assent witness` of the tests' log, with its memory in the folder.
pub async fn witness_process(folder: &Path) -> Process {
    Process::start(witness_command(folder)).await
}

pub fn witness_command(folder: &Path) -> std::process::Command {
    let logs = folder.join("logs");
    std::fs::write(&logs, format!("log {} https://a.example/log\nquorum none\n", log_key()))
        .unwrap();
    let mut command = bare_program();
    command.env("WITNESS_KEY", SEED).args(["witness", "--name", "w.example/1"]);
    command.arg("--logs").arg(logs).arg("--folder").arg(folder.join("memory"));
    command.args(["--listen", "127.0.0.1:0"]);
    command
}

/// The key of [`witness_process`].
pub fn process_cosigner() -> Cosigner {
    let key = CosigningKey::new("w.example/1", &hex::decode(SEED).unwrap()).unwrap();
    key.cosigner().clone()
}
