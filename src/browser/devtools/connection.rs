//! A connection for the DevTools protocol: JSON messages that end with a zero byte, through pipes. `chromiumoxide`
//! needs a WebSocket, to which other processes could connect, and has 60,000 generated lines for all methods.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

const CALL: Duration = Duration::from_secs(20);
/// A longer message closes the connection.
const MAX_MESSAGE: u64 = 64 << 20;
/// Capacity of the event queue. While it is full, nothing is read from the browser.
const EVENTS: usize = 1000;

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("the browser ended")]
    Closed,
    #[error("the browser did not answer {0}")]
    Timeout(String),
    #[error("the browser refused {0}: {1}")]
    Refused(String, String),
}

#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "sessionId")]
    pub session: Option<String>,
    pub method: String,
    #[serde(default)]
    pub params: Value,
}

pub type Events = mpsc::Receiver<Event>;

type Reply = oneshot::Sender<Result<Value, String>>;
/// Calls without a result yet; `None` once the browser has ended.
type Waiting = Arc<Mutex<Option<HashMap<u64, Reply>>>>;

fn lock(waiting: &Waiting) -> MutexGuard<'_, Option<HashMap<u64, Reply>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to a browser; clones share it.
#[derive(Clone)]
pub struct Connection {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Waiting,
    last_id: Arc<AtomicU64>,
}

impl Connection {
    pub fn open(input: ChildStdin, output: ChildStdout) -> (Self, Events) {
        let (outgoing, messages) = mpsc::unbounded_channel();
        let (events, received) = mpsc::channel(EVENTS);
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(write(input, messages));
        tokio::spawn(read(output, events, Arc::clone(&waiting)));
        (Self { outgoing, waiting, last_id: Arc::default() }, received)
    }

    /// Calls a method and waits at most twenty seconds for its result.
    pub async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (reply, answer) = oneshot::channel();
        lock(&self.waiting).as_mut().ok_or(CallError::Closed)?.insert(id, reply);
        self.send(id, session, method, params);
        match timeout(CALL, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(CallError::Refused(method.to_owned(), error)),
            Ok(Err(_)) => Err(CallError::Closed),
            Err(_) => {
                lock(&self.waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                Err(CallError::Timeout(method.to_owned()))
            }
        }
    }

    /// Calls a method without waiting for its result. Calls are executed in order.
    pub fn post(&self, session: Option<&str>, method: &str, params: Value) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(id, session, method, params);
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: Value) {
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        // Without a receiver the browser has ended, and the call fails because it gets no answer.
        let _ = self.outgoing.send(bytes);
    }
}

async fn write(mut input: ChildStdin, mut messages: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if input.write_all(&message).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Event(Event),
    Answer { id: u64, result: Option<Value>, error: Option<Value> },
}

async fn read(output: ChildStdout, events: mpsc::Sender<Event>, waiting: Waiting) {
    let mut output = BufReader::new(output);
    let mut message = Vec::new();
    loop {
        message.clear();
        let read = (&mut output).take(MAX_MESSAGE).read_until(0, &mut message).await;
        if !matches!(read, Ok(1..)) || message.pop() != Some(0) {
            break;
        }
        match serde_json::from_slice(&message) {
            Ok(Message::Event(event)) => {
                if events.send(event).await.is_err() {
                    break;
                }
            }
            Ok(Message::Answer { id, result, error }) => {
                let reply = lock(&waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                let answer = match error {
                    Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
                    None => Ok(result.unwrap_or_default()),
                };
                if let Some(reply) = reply {
                    let _ = reply.send(answer);
                }
            }
            Err(_) => {}
        }
    }
    lock(&waiting).take();
}
