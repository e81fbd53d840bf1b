use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use crate::browser::devtools::{CallError, Connection, Document, SharedSeen};
use crate::browser::run_delay::RunDelay;

use super::extension::rest;
use super::observation::Screenshot;

const CALL_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_RESPONSE: Duration = Duration::from_secs(20);
/// A page that does not finish loading is observed after this time.
const LOADING: Duration = Duration::from_secs(8);
/// The time after leaving the page during which requests still count.
const AFTERMATH: Duration = Duration::from_secs(1);
/// Time limit for an answer that shows that the page is running.
const ANSWER: Duration = Duration::from_secs(1);
const MAX_FRAMES: usize = 40;
/// The number of steps in which the page is scrolled, and the pixels of each.
const SCROLLS: u32 = 12;
const SCROLLED: i32 = 700;
const WORLD: &str = "assent-watch";

pub struct Page {
    pub connection: Connection,
    pub seen: SharedSeen,
    pub session: String,
    /// The target of `chrome://webrtc-internals/`.
    pub webrtc: String,
    pub run_delay: Arc<RunDelay>,
}

/// The beginning of an observation.
struct Beginning {
    at: Instant,
    lost: Duration,
}

impl Page {
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.connection.call(Some(&self.session), method, params).await
    }

    /// Opens the page and waits until it is loaded. Fails with the reason why it cannot be observed.
    pub async fn open(&self, url: &str) -> Result<(), String> {
        self.seen.lock().document = Document::default();
        let opening = timeout(FIRST_RESPONSE, self.call("Page.navigate", json!({"url": url})));
        let opened = match opening.await {
            Ok(Err(CallError::Timeout(_))) | Err(_) => {
                return Err("the page did not answer within 20 s".to_owned());
            }
            Ok(opened) => opened.map_err(|error| error.to_string())?,
        };
        if let Some(error) = opened["errorText"].as_str() {
            return Err(format!("the page cannot be loaded: {error}"));
        }
        if opened["isDownload"] == Value::Bool(true) {
            return Err("the address is a download".to_owned());
        }
        let start = Instant::now();
        while start.elapsed() < LOADING {
            let document = self.seen.lock().document.clone();
            if document.is_loaded || document.failure.is_some() {
                break;
            }
            sleep(Duration::from_millis(25)).await;
        }
        self.check()
    }

    /// Fails unless the document was answered with a page.
    pub fn check(&self) -> Result<(), String> {
        let seen = self.seen.lock();
        if seen.has_crashed {
            return Err("the page crashed".to_owned());
        }
        match (&seen.document.failure, seen.document.status) {
            (Some(failure), _) => Err(format!("the page cannot be loaded: {failure}")),
            (None, Some(200..=299 | 304)) => Ok(()),
            (None, Some(status)) => Err(format!("the page answered with status {status}")),
            (None, None) => Err("the page did not answer".to_owned()),
        }
    }

    /// Observes the page for a time. Meanwhile the mouse is moved, and the page is scrolled in steps, so that all parts
    /// of most pages become visible, then to its end and back.
    pub async fn read_for(&self, time: Duration) -> Result<(), String> {
        let post = |event: Value| {
            self.connection.post(Some(&self.session), "Input.dispatchMouseEvent", event);
        };
        let beginning = self.begin().await;
        sleep(time / 4).await;
        for (x, y) in [(320, 8), (640, 440)] {
            post(json!({"type": "mouseMoved", "x": x, "y": y}));
        }
        let scroll = |way: i32| {
            post(json!({"type": "mouseWheel", "x": 640, "y": 450, "deltaX": 0, "deltaY": way}));
        };
        for _ in 0..SCROLLS {
            scroll(SCROLLED);
            sleep(time / 4 / SCROLLS).await;
        }
        for way in [100_000, -200_000] {
            scroll(way);
            sleep(time / 8).await;
        }
        self.wait_until_run(time, &beginning).await.map(drop)
    }

    async fn begin(&self) -> Beginning {
        Beginning { at: Instant::now(), lost: self.lost().await }
    }

    /// Waits until the browser has been able to run for this time since the beginning. Returns how long it was not able
    /// to run.
    async fn wait_until_run(
        &self,
        time: Duration,
        beginning: &Beginning,
    ) -> Result<Duration, String> {
        loop {
            let lost = self.lost().await.saturating_sub(beginning.lost);
            let rest = rest(time, beginning.at.elapsed(), lost)?;
            if rest.is_zero() {
                return Ok(lost);
            }
            sleep(rest).await;
            // Linux counts a wait only after its end. A page that answers is running, so its waits have ended.
            let answering = json!({"expression": "0"});
            let _ = timeout(ANSWER, self.call("Runtime.evaluate", answering)).await;
        }
    }

    /// Waits until the browser has been able to run for this time from now on. Returns how long it was not able to run.
    pub async fn stay(&self, time: Duration) -> Result<Duration, String> {
        let beginning = self.begin().await;
        self.wait_until_run(time, &beginning).await
    }

    /// The time for which the browser has waited for a processor so far.
    async fn lost(&self) -> Duration {
        let run_delay = Arc::clone(&self.run_delay);
        let measuring = spawn_blocking(move || {
            run_delay.measure();
            run_delay.lost()
        });
        measuring.await.unwrap_or_default()
    }

    pub async fn leave(&self) -> Result<(), String> {
        let leaving = self.call("Page.navigate", json!({"url": "about:blank"}));
        let _ = timeout(CALL_TIMEOUT, leaving).await;
        self.stay(AFTERMATH).await.map(drop)
    }

    /// Evaluates an expression in an isolated world, which scripts of the page cannot change, or in the page's own.
    /// Returns null if there is no answer.
    pub async fn evaluate(&self, expression: &str, is_isolated: bool) -> Value {
        let main_frame = self.seen.lock().main_frame.clone().unwrap_or_default();
        let context = match is_isolated {
            true => self.world(&self.session, &main_frame).await,
            false => None,
        };
        if is_isolated && context.is_none() {
            return Value::Null;
        }
        self.evaluate_in_context(&self.session, context, expression).await
    }

    async fn world(&self, session: &str, frame: &str) -> Option<u64> {
        let params = json!({"frameId": frame, "worldName": WORLD});
        let calling = self.connection.call(Some(session), "Page.createIsolatedWorld", params);
        timeout(CALL_TIMEOUT, calling).await.ok()?.ok()?["executionContextId"].as_u64()
    }

    async fn evaluate_in_context(
        &self,
        session: &str,
        context: Option<u64>,
        expression: &str,
    ) -> Value {
        let mut params =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        if let Some(context) = context {
            params["contextId"] = json!(context);
        }
        let calling = self.connection.call(Some(session), "Runtime.evaluate", params);
        match timeout(CALL_TIMEOUT, calling).await {
            Ok(Ok(mut answer)) => answer["result"]["value"].take(),
            _ => Value::Null,
        }
    }

    /// Evaluates an expression in the frames. Returns the values, and whether there are no more frames than the limit.
    pub async fn evaluate_in_frames(&self, expression: &str) -> (Vec<Value>, bool) {
        let sessions = self.seen.lock().documents.clone();
        let mut answers = Vec::new();
        for session in sessions {
            let calling = self.connection.call(Some(&session), "Page.getFrameTree", json!({}));
            let Ok(Ok(tree)) = timeout(CALL_TIMEOUT, calling).await else { continue };
            let mut frames = Vec::new();
            collect_frames(&tree["frameTree"], &mut frames);
            for frame in frames {
                if answers.len() >= MAX_FRAMES {
                    return (answers, false);
                }
                if let Some(context) = self.world(&session, &frame).await {
                    answers
                        .push(self.evaluate_in_context(&session, Some(context), expression).await);
                }
            }
        }
        (answers, true)
    }

    pub async fn screenshot(&self) -> Option<Screenshot> {
        let taking = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let taken = timeout(CALL_TIMEOUT, taking).await.ok()?.ok()?;
        let bytes = BASE64_STANDARD.decode(taken["data"].as_str()?).ok()?;
        Some(Screenshot(bytes))
    }
}

fn collect_frames(tree: &Value, frames: &mut Vec<String>) {
    if let Some(id) = tree["frame"]["id"].as_str() {
        frames.push(id.to_owned());
    }
    for child in tree["childFrames"].as_array().into_iter().flatten() {
        collect_frames(child, frames);
    }
}
