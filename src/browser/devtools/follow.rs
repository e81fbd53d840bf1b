//! Handles the DevTools events of a browser: attaches to all targets that can make requests, and records their events.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::causes::Cause;
use super::connection::{Connection, Event, Events};
use super::items::ItemWritten;
use super::seen::{Seen, SharedSeen, TagScript};
use crate::browser::monotonic::monotonic_ms;
use crate::browser::site::{host_of, shortened};
use crate::browser::tag_service::is_tag;

const MAX_PAGES: usize = 12;
/// Longer keys and values are not recorded as they are written, but only read at the end of the visit.
const MAX_ITEM: usize = 4096;

/// A page that sets the property again, or freezes it, affects only its own scripts.
const GPC_SCRIPT: &str = "if (navigator.globalPrivacyControl !== true) \
    Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', \
    {get: () => true, configurable: true, enumerable: true})";

#[derive(Clone, Debug, Default)]
pub struct Following {
    pub gpc: bool,
    /// URL patterns of requests that are blocked.
    pub blocked: Vec<String>,
}

/// The parameters of `Target.setAutoAttach`: a new target is paused until [`attached`] resumes it.
fn auto_attach() -> Value {
    json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true,
        "filter": [{"type": "browser", "exclude": true}, {"type": "tab", "exclude": true},
            {"type": "browser_ui", "exclude": true}, {}],
    })
}

/// Attaches to the browser and returns the session of its page. Needs [`follow`] to run, which notes that session.
pub async fn attach(connection: &Connection, seen: &SharedSeen) -> Result<String, String> {
    let attaching = connection.call(None, "Target.setAutoAttach", auto_attach());
    attaching.await.map_err(|error| error.to_string())?;
    let start = Instant::now();
    let session = loop {
        match seen.main() {
            Some(session) => break session,
            None if start.elapsed() > Duration::from_secs(5) => {
                return Err("the browser has no page".to_owned());
            }
            None => sleep(Duration::from_millis(10)).await,
        }
    };
    // The browser navigates without waiting for the page's process. Calls that this process has not answered before,
    // such as the one that blocks the service, would have no effect on the new document.
    let last = connection.call(Some(&session), "Runtime.evaluate", json!({"expression": "0"}));
    last.await.map_err(|error| error.to_string())?;
    Ok(session)
}

/// Handles all events until the browser ends.
pub async fn follow(
    connection: Connection,
    mut events: Events,
    settings: Following,
    seen: SharedSeen,
) {
    while let Some(event) = events.recv().await {
        handle(&connection, &settings, &mut seen.lock(), &event);
    }
}

fn handle(connection: &Connection, settings: &Following, seen: &mut Seen, event: &Event) {
    let (params, session) = (&event.params, event.session.as_deref());
    let is_main = session.is_some() && session == seen.main.as_deref();
    match event.method.as_str() {
        "Target.attachedToTarget" => attached(connection, settings, seen, params),
        "Target.detachedFromTarget" => {
            if let Some(ended) = params["sessionId"].as_str() {
                seen.documents.remove(ended);
            }
        }
        "Network.requestWillBeSent" => requested(seen, params, session.unwrap_or_default()),
        "Network.responseReceived" if is_main => {
            let is_document = seen.main_request.as_deref() == params["requestId"].as_str();
            if is_document {
                seen.document.status = params["response"]["status"].as_u64();
            }
        }
        "Network.loadingFailed" if is_main => {
            let is_document = seen.main_request.as_deref() == params["requestId"].as_str();
            if is_document && seen.document.status.is_none() {
                seen.document.failure = params["errorText"].as_str().map(str::to_owned);
            }
        }
        "Page.loadEventFired" if is_main => seen.document.is_loaded = true,
        "Page.frameNavigated" => {
            let origin = params["frame"]["securityOrigin"].as_str().unwrap_or_default();
            seen.record_origin(origin);
        }
        method if method.starts_with("DOMStorage.") => storage_changed(seen, method, params),
        "Network.webSocketCreated" => {
            let url = record_opened(seen, params);
            seen.record_socket(params["requestId"].as_str().unwrap_or_default().to_owned(), url);
        }
        "Network.webTransportCreated" => drop(record_opened(seen, params)),
        "Network.dataReceived" | "Network.webSocketFrameReceived" => {
            seen.received += received(params);
        }
        "Network.webSocketFrameSent" => {
            let request = params["requestId"].as_str().unwrap_or_default();
            if let Some(sent) = seen.messages.get_mut(request) {
                sent.at_ms = params["timestamp"].as_f64().unwrap_or_default() * 1000.0;
            }
        }
        "Page.javascriptDialogOpening" => {
            connection.post(session, "Page.handleJavaScriptDialog", answer_to(params));
        }
        // Requests are intercepted only after the visit, to serve empty documents.
        "Fetch.requestPaused" => {
            let answer = json!({
                "requestId": params["requestId"], "responseCode": 200, "body": "",
                "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
            });
            connection.post(session, "Fetch.fulfillRequest", answer);
        }
        "Inspector.targetCrashed" if is_main => seen.has_crashed = true,
        _ => {}
    }
}

/// The answer to a dialog: questions are declined. Alerts and `beforeunload` are accepted, as they only block the page.
fn answer_to(dialog: &Value) -> Value {
    json!({"accept": matches!(dialog["type"].as_str(), Some("alert" | "beforeunload"))})
}

fn received(params: &Value) -> u64 {
    let message = params["response"]["payloadData"].as_str().map(|message| message.len() as u64);
    message.or_else(|| params["dataLength"].as_u64()).unwrap_or_default()
}

fn storage_changed(seen: &mut Seen, method: &str, params: &Value) {
    match method {
        "DOMStorage.domStorageItemAdded" | "DOMStorage.domStorageItemUpdated" => {
            item_written(seen, params);
        }
        "DOMStorage.domStorageItemRemoved" | "DOMStorage.domStorageItemsCleared" => {
            if let Some(host) = storage_host(params) {
                seen.items.drop_removed(&host, params["key"].as_str(), monotonic_ms());
            }
        }
        _ => {}
    }
}

/// The host of a local storage event; `None` for other storage.
fn storage_host(params: &Value) -> Option<String> {
    let storage = &params["storageId"];
    let key = storage["storageKey"].as_str().or_else(|| storage["securityOrigin"].as_str());
    // A storage key that contains more than the origin belongs to a frame of another site.
    key.filter(|key| storage["isLocalStorage"] == true && !key.contains('^')).and_then(host_of)
}

fn item_written(seen: &mut Seen, params: &Value) {
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let is_long = ["key", "newValue"].iter().any(|name| text(name).len() > MAX_ITEM);
    if let Some(host) = storage_host(params).filter(|_| !is_long) {
        let (key, value) = (text("key").to_owned(), text("newValue").to_owned());
        seen.record_item(ItemWritten { host, key, value, at_ms: monotonic_ms() });
    }
}

fn attached(connection: &Connection, settings: &Following, seen: &mut Seen, params: &Value) {
    let Some(session) = params["sessionId"].as_str() else { return };
    let target = &params["targetInfo"];
    let url = shortened(target["url"].as_str().unwrap_or_default());
    let kind = target["type"].as_str();
    let post = |method: &str, params: Value| connection.post(Some(session), method, params);
    if kind == Some("page") && seen.targets.len() < 1000 {
        let target = target["targetId"].as_str().unwrap_or_default();
        seen.targets.push((target.to_owned(), session.to_owned()));
    }
    if !url.starts_with("chrome") {
        let is_document = matches!(kind, Some("page" | "iframe" | "webview" | "fencedframe"));
        post("Network.enable", json!({"maxPostDataSize": 0}));
        post("Target.setAutoAttach", auto_attach());
        if is_document {
            post("Page.enable", json!({}));
            post("DOMStorage.enable", json!({}));
            seen.documents.insert(session.to_owned());
        } else if seen.workers.len() < 1000 {
            seen.workers.insert(url.to_owned());
        }
        if settings.gpc {
            post("Network.setExtraHTTPHeaders", json!({"headers": {"Sec-GPC": "1"}}));
            if is_document {
                let script = json!({"source": GPC_SCRIPT, "runImmediately": true});
                post("Page.addScriptToEvaluateOnNewDocument", script);
            }
        }
        if !settings.blocked.is_empty() {
            post("Network.setBlockedURLs", json!({"urls": settings.blocked}));
        }
        if kind == Some("page") {
            seen.pages += 1;
            if seen.main.is_none() {
                seen.main = Some(session.to_owned());
                seen.main_frame = target["targetId"].as_str().map(str::to_owned);
            } else if seen.pages > MAX_PAGES {
                let target = json!({"targetId": target["targetId"]});
                connection.post(None, "Target.closeTarget", target);
            }
        }
    }
    post("Runtime.runIfWaitingForDebugger", json!({}));
}

/// Records the cause of a WebSocket or WebTransport session, for which no request is reported. Returns its address.
fn record_opened(seen: &mut Seen, params: &Value) -> String {
    let url = shortened(params["url"].as_str().unwrap_or_default()).to_owned();
    seen.record_cause(&url, Cause::of(params));
    url
}

fn requested(seen: &mut Seen, params: &Value, session: &str) {
    let url = shortened(params["request"]["url"].as_str().unwrap_or_default());
    let request = params["requestId"].as_str().unwrap_or_default();
    let cause = Cause::of(params);
    if cause.resource == "Document"
        && seen.main.as_deref() == Some(session)
        && params["requestId"] == params["loaderId"]
        && seen.main_frame.as_deref() == params["frameId"].as_str()
    {
        seen.main_request = Some(request.to_owned());
    }
    if cause.resource == "Script" && is_tag(url) && seen.tags.len() < 10 {
        let (request, session) = (request.to_owned(), session.to_owned());
        seen.tags.push(TagScript { url: url.to_owned(), request, session });
    }
    seen.record_cause(url, cause);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_a_page_are_dismissed_and_other_dialogs_accepted() {
        let kinds = ["alert", "beforeunload", "confirm", "prompt"];
        let accepted = kinds.map(|kind| answer_to(&json!({"type": kind}))["accept"] == true);
        assert_eq!(accepted, [true, true, false, false]);
    }
}
