use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use url::Url;

use crate::watch::browser::{Browser, Extra, Program, RunFolder, StartError, bounds};
use crate::watch::devtools::{self, Events, Following, SharedSeen, follow};
use crate::watch::monotonic::monotonic_ms;
use crate::watch::net_log;
use crate::watch::service::pixel_of;
use crate::watch::site::{Site, host_of};
use crate::watch::waits::Waits;

use super::choice::{Choice, Pressed};
use super::extension::EXTENSION;
use super::kinds::Visit;
use super::observation::{Observation, Screenshot, StoredValue, TagSeen};
use super::page::Page;
use super::passing::{CookieReader, written};

/// The time of a visit beside its observation.
const BESIDE: Duration = Duration::from_secs(25);
/// Requests on their way at a withdrawal are permitted for this time.
const GRACE_MS: f64 = 300.0;
/// The time between acceptance and withdrawal, at most.
const ACCEPTED: Duration = Duration::from_millis(1500);

/// Everything that a visit depends on.
pub struct Setting<'r> {
    pub program: &'r Program,
    pub folder: &'r RunFolder,
    pub url: &'r Url,
    pub observation: Duration,
    /// The host of the service, where it is known.
    pub service: Option<String>,
    pub no_sandbox: bool,
    /// The proxy through which the browser must connect.
    pub proxy: Option<SocketAddr>,
}

#[derive(Default)]
struct Results {
    permitted: Option<(f64, f64)>,
    has_chosen: bool,
    stored_before: Vec<StoredValue>,
    stored_permitted: Vec<StoredValue>,
    stored: Vec<StoredValue>,
    objects: Vec<String>,
    icons: Vec<String>,
    manifests: Vec<String>,
    webrtc_servers: Vec<(String, u16)>,
    tag: Option<TagSeen>,
    screenshot: Option<Screenshot>,
    ended_ms: Option<f64>,
}

/// Makes a visit in a fresh profile. Fails only if the browser cannot be started.
pub async fn observe(
    setting: &Setting<'_>,
    visit: Visit,
    profile_name: &str,
) -> Result<Observation, StartError> {
    let other = |error: std::io::Error| StartError::Other(error.to_string());
    let profile = setting.folder.profile(profile_name).map_err(other)?;
    let Setting { no_sandbox, proxy, .. } = *setting;
    let extra = Extra { gpc: visit == Visit::Gpc, no_sandbox, proxy };
    let started = Browser::start(setting.program, setting.folder, &profile, extra).await;
    let (browser, events) = match started {
        Ok(started) => started,
        Err(error) => {
            remove(&profile).await;
            return Err(error);
        }
    };
    let (seen, waits) = (SharedSeen::default(), Arc::new(Waits::of(&profile)));
    let mut results = Results::default();
    let version = browser.version.clone();
    let pages = if visit == Visit::Returning { 2 } else { 1 };
    let limit = BESIDE + (setting.observation + EXTENSION) * pages + ACCEPTED;
    let started_ms = monotonic_ms();
    let cookies = CookieReader::start(browser.connection.clone());
    let steps =
        timeout(limit, drive(setting, visit, &browser, events, &seen, &waits, &mut results));
    let failure = tokio::select! {
        done = steps => match done {
            Ok(done) => done.err(),
            Err(_) => Some(format!("the visit took longer than {} s", limit.as_secs())),
        },
        exceeded = bounds::exceeded(&waits, || seen.lock().received) => Some(exceeded),
    };
    let passing = [cookies.found(), written(&seen)].concat();
    drop(cookies);
    browser.close().await;
    let log = net_log::read(&profile.join("net.json"));
    remove(&profile).await;
    let seen = std::mem::take(&mut *seen.lock());
    let (log, unread) = match log {
        Ok(mut log) => {
            log.unnamed.retain(|entry| Some(entry.address) != proxy);
            let cut = log.is_cut.then(|| "the page made more requests than are kept".to_owned());
            (log, cut)
        }
        Err(problem) => (net_log::NetLog::default(), Some(problem)),
    };
    let first = log.requests.iter().find(|request| request.destination == "main frame");
    Ok(Observation {
        visit,
        unobserved: failure.or(unread),
        started_ms: first.map_or(started_ms, |request| request.at_ms),
        ended_ms: results.ended_ms.unwrap_or(f64::INFINITY),
        permitted: results.permitted,
        has_chosen: results.has_chosen,
        log,
        seen,
        stored_before: results.stored_before,
        stored_permitted: results.stored_permitted,
        stored: results.stored,
        passing,
        objects: results.objects,
        icons: results.icons,
        manifests: results.manifests,
        webrtc_servers: results.webrtc_servers,
        tag: results.tag,
        screenshot: results.screenshot,
        browser: version,
        has_sandbox: !setting.no_sandbox,
    })
}

async fn remove(profile: &Path) {
    let profile = profile.to_owned();
    let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(profile)).await;
}

async fn drive(
    setting: &Setting<'_>,
    visit: Visit,
    browser: &Browser,
    events: Events,
    seen: &SharedSeen,
    waits: &Arc<Waits>,
    results: &mut Results,
) -> Result<(), String> {
    let page = attach(setting, visit, browser, events, seen, waits).await?;
    page.open(setting.url.as_str()).await?;
    let choosing = match visit {
        Visit::Untouched | Visit::Gpc | Visit::Blocked => page.read_for(setting.observation).await,
        Visit::Declined | Visit::Returning => decline(setting, &page, results).await,
        Visit::AcceptedThenWithdrawn => withdraw(setting, &page, results).await,
    };
    if visit == Visit::Returning {
        page.leave().await?;
        page.open(setting.url.as_str()).await?;
        page.read_for(setting.observation).await?;
    }
    let finished = finish(setting, &page, results).await;
    page.check()?;
    finished?;
    choosing
}

/// Attaches to the browser and returns its page.
async fn attach(
    setting: &Setting<'_>,
    visit: Visit,
    browser: &Browser,
    events: Events,
    seen: &SharedSeen,
    waits: &Arc<Waits>,
) -> Result<Page, String> {
    let connection = browser.connection.clone();
    let blocked = setting.service.clone().filter(|_| visit == Visit::Blocked);
    let following = Following { gpc: visit == Visit::Gpc, blocked };
    tokio::spawn(follow(connection.clone(), events, following, seen.clone()));
    connection.post(None, "Browser.setDownloadBehavior", json!({"behavior": "deny"}));
    if visit == Visit::Gpc {
        connection.post(None, "Browser.setGlobalPrivacyControl", json!({"gpc": true}));
    }
    let session = devtools::attach(&connection, seen).await?;
    let webrtc = json!({"url": "chrome://webrtc-internals/", "background": true});
    let created = connection.call(None, "Target.createTarget", webrtc).await.unwrap_or_default();
    let webrtc = created["targetId"].as_str().unwrap_or_default().to_owned();
    Ok(Page { connection, seen: seen.clone(), session, webrtc, waits: Arc::clone(waits) })
}

async fn decline(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    let pressed = page.choose(Choice::Declined).await;
    results.has_chosen = pressed.is_some();
    let read = page.read_for(setting.observation).await;
    pressed.map(drop).ok_or_else(|| "nothing could be declined".to_owned()).and(read)
}

async fn withdraw(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    results.stored_before = page.stored_now().await;
    let Some(Pressed { before_ms, .. }) = page.choose(Choice::Accepted).await else {
        let _ = page.read_for(setting.observation).await;
        return Err("nothing could be accepted".to_owned());
    };
    results.permitted = Some((before_ms, f64::INFINITY));
    page.stay(setting.observation.min(ACCEPTED)).await?;
    let withdrawn = page.withdraw().await;
    let Some(Pressed { after_ms, .. }) = withdrawn else {
        return Err("nothing could be withdrawn".to_owned());
    };
    let grace = Duration::from_secs_f64(((after_ms + GRACE_MS - monotonic_ms()) / 1000.0).max(0.0));
    let lost_ms = page.stay(grace).await?.as_secs_f64() * 1000.0;
    results.permitted = Some((before_ms, after_ms + GRACE_MS + lost_ms));
    results.stored_permitted = page.stored_now().await;
    results.has_chosen = true;
    page.read_for(setting.observation).await
}

/// Addresses that the page names, in one answer, because a page that is busy answers none.
const NAMED: &str = "[['object', 'object,embed'], ['icon', 'link[rel~=icon i][href]'], \
    ['manifest', 'link[rel~=manifest i][href]']].flatMap(([kind, selector]) => \
    [...document.querySelectorAll(selector)].slice(0, 100).map((e) => \
    [kind, String(e.href || e.data || e.src).slice(0, 4000)]))";

async fn finish(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    results.tag = tag(page).await;
    results.screenshot = page.screenshot().await;
    let named = page.ask(NAMED, true).await;
    for entry in named.as_array().into_iter().flatten() {
        let Some(url) = entry[1].as_str().map(str::to_owned) else { continue };
        match entry[0].as_str() {
            Some("icon") => results.icons.push(url),
            Some("manifest") => results.manifests.push(url),
            _ => results.objects.push(url),
        }
    }
    // The browser forgets the servers of a page that has ended.
    results.webrtc_servers = webrtc_servers(page).await;
    let left = page.leave().await;
    results.ended_ms = Some(monotonic_ms());
    let host = host_of(setting.url.as_str()).unwrap_or_default();
    let (stored, read) = page.stored_at_end(&Site::of_host(&host), setting.url).await;
    results.stored = stored;
    read.and(left)
}

async fn tag(page: &Page) -> Option<TagSeen> {
    let script = page.seen.lock().tags.iter().find(|tag| pixel_of(&tag.url).is_some()).cloned()?;
    let body = json!({"requestId": script.request});
    let session = Some(script.session.as_str());
    let body = page.connection.call(session, "Network.getResponseBody", body);
    let body = timeout(Duration::from_secs(3), body).await.ok().and_then(Result::ok);
    let text = body.as_ref().and_then(|body| body["body"].as_str()).filter(|text| !text.is_empty());
    let sha256 = text.map(|text| hex::encode(Sha256::digest(text.as_bytes())));
    Some(TagSeen { url: script.url, sha256 })
}

/// The servers in the browser's own list of WebRTC connections.
async fn webrtc_servers(page: &Page) -> Vec<(String, u16)> {
    let targets = page.seen.lock().targets.clone();
    let Some((_, session)) = targets.into_iter().find(|(target, _)| *target == page.webrtc) else {
        return Vec::new();
    };
    let params = json!({"expression": "document.documentElement.innerText", "returnByValue": true});
    let asking = page.connection.call(Some(&session), "Runtime.evaluate", params);
    let Ok(Ok(answer)) = timeout(Duration::from_secs(2), asking).await else { return Vec::new() };
    servers_in(answer["result"]["value"].as_str().unwrap_or_default())
}

/// Servers in texts such as `stun:stun.example:3478` and `turns:turn.example?transport=tcp`.
fn servers_in(text: &str) -> Vec<(String, u16)> {
    let address = r#""(stuns?|turns?):(\[[0-9a-fA-F:]+\]|[^":?\s]+)(?::(\d+))?(?:\?[^"]*)?""#;
    let Ok(pattern) = regex::Regex::new(address) else { return Vec::new() };
    let servers = pattern.captures_iter(text).map(|found| {
        let standard = if found[1].ends_with('s') { 5349 } else { 3478 };
        let port = found.get(3).and_then(|port| port.as_str().parse().ok()).unwrap_or(standard);
        (found[2].to_ascii_lowercase(), port)
    });
    servers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_webrtc_are_read() {
        let text = r#"{"iceServers":[{"urls":["stun:stun.example"]},
            {"urls":["turn:turn.example:81?transport=tcp","turns:[::1]"]}]}"#;
        let servers = [("stun.example", 3478), ("turn.example", 81), ("[::1]", 5349)];
        let servers = servers.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(servers_in(text), servers);
    }
}
