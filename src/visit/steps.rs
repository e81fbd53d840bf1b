use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use url::Url;

use crate::browser::devtools::{self, Events, Following, SharedSeen, follow};
use crate::browser::monotonic::monotonic_ms;
use crate::browser::net_log::{self, NetLog};
use crate::browser::run_delay::RunDelay;
use crate::browser::site::{Site, host_of};
use crate::browser::tag_service::blocked_patterns;
use crate::browser::{Browser, Extra, Program, RunFolder, StartError, bounds, log_file};

use super::choice::{Choice, Pressed};
use super::extension::EXTENSION;
use super::kinds::Visit;
use super::named::{NAMED, Named};
use super::observation::{Observation, Screenshot, StoredValue, TagSeen};
use super::page::Page;
use super::passing::{CookieReader, logged, written};
use super::tag::tag;
use super::webrtc::servers;

/// Time limit of a visit, in addition to its observation.
const BESIDE: Duration = Duration::from_secs(25);
/// Requests and entries in progress at a withdrawal are permitted for this time.
const GRACE_MS: f64 = 300.0;
/// Maximum time between acceptance and withdrawal.
const ACCEPTED: Duration = Duration::from_millis(1500);

/// The settings of a visit.
pub struct Setting<'r> {
    pub program: &'r Program,
    pub folder: &'r RunFolder,
    pub url: &'r Url,
    pub observation: Duration,
    /// The host of the service, where it is known.
    pub service: Option<String>,
    /// The names of the pixel whose tag must be on the page; empty for any.
    pub pixels: &'r [String],
    pub no_sandbox: bool,
    /// The proxy through which the browser must connect.
    pub proxy: Option<SocketAddr>,
}

#[derive(Default)]
struct Results {
    permitted: Option<(f64, f64)>,
    withdrawn_ms: Option<f64>,
    has_chosen: bool,
    before: SoFar,
    while_permitted: SoFar,
    stored: Vec<StoredValue>,
    named: Named,
    named_before: Named,
    /// `None` if the page did not answer, or nothing was withdrawn.
    named_at_withdrawal: Option<Named>,
    webrtc_servers: Vec<(String, u16)>,
    tag: Option<TagSeen>,
    screenshot: Option<Screenshot>,
    ended_ms: Option<f64>,
}

/// The values that the page has stored so far, and the WebRTC servers that it has named so far.
#[derive(Default)]
struct SoFar {
    stored: Vec<StoredValue>,
    webrtc: Vec<(String, u16)>,
}

impl SoFar {
    /// Returns whether all values could be read.
    async fn read(&mut self, page: &Page) -> bool {
        let (stored, is_whole) = page.stored_now().await;
        self.stored = stored;
        self.webrtc = servers(page).await.unwrap_or_default();
        is_whole
    }
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
    let (seen, run_delay) = (SharedSeen::default(), Arc::new(RunDelay::of(&profile)));
    let mut results = Results::default();
    let version = browser.version.clone();
    let pages = if visit == Visit::Returning { 2 } else { 1 };
    let limit = BESIDE + (setting.observation + EXTENSION) * pages + ACCEPTED;
    let started_ms = monotonic_ms();
    let cookies = CookieReader::start(browser.connection.clone());
    let steps =
        timeout(limit, drive(setting, visit, &browser, events, &seen, &run_delay, &mut results));
    let failure = tokio::select! {
        done = steps => match done {
            Ok(done) => done.err(),
            Err(_) => Some(format!("the visit took longer than {} s", limit.as_secs())),
        },
        exceeded = bounds::exceeded(&run_delay, || seen.lock().received) => Some(exceeded),
    };
    let (read, written) = (cookies.found(), written(&seen));
    drop(cookies);
    browser.close().await;
    let (log, missing) = read_log(&profile, proxy, results.ended_ms);
    remove(&profile).await;
    let seen = std::mem::take(&mut *seen.lock());
    let known = [&results.stored[..], &results.before.stored[..], &read.values[..]].concat();
    let logged = logged(&log, &known);
    let is_cut = seen.is_cut || read.is_cut || logged.is_cut;
    let cut = is_cut.then(|| "the page stored or opened more than is kept".to_owned());
    let before = &results.named_before;
    let at_withdrawal = results.named_at_withdrawal.as_ref();
    let named_later = at_withdrawal.map(|known| results.named.other_than(before, known));
    let was_accepted = results.permitted.is_some();
    let named = results.named.without_consent(results.named_before, was_accepted);
    let first = log.requests.iter().find(|request| request.destination == "main frame");
    Ok(Observation {
        visit,
        unobserved: failure.or(missing).or(cut),
        started_ms: first.map_or(started_ms, |request| request.at_ms),
        ended_ms: results.ended_ms.unwrap_or(f64::INFINITY),
        permitted: results.permitted,
        withdrawn_ms: results.withdrawn_ms,
        has_chosen: results.has_chosen,
        log,
        seen,
        stored_before: results.before.stored,
        stored_permitted: results.while_permitted.stored,
        stored: results.stored,
        passing: [read.values, written, logged.values].concat(),
        named,
        named_later: named_later.unwrap_or_default(),
        webrtc_servers: results.webrtc_servers,
        webrtc_before: results.before.webrtc,
        webrtc_permitted: results.while_permitted.webrtc,
        is_proxied: proxy.is_some(),
        tag: results.tag,
        screenshot: results.screenshot,
        browser: version,
        has_sandbox: !setting.no_sandbox,
    })
}

/// The network log of a visit, and a sentence if events may be missing.
fn read_log(
    profile: &Path,
    proxy: Option<SocketAddr>,
    ended_ms: Option<f64>,
) -> (NetLog, Option<String>) {
    match net_log::read(&log_file(profile)) {
        Ok(mut log) => {
            log.unnamed.retain(|entry| Some(entry.address) != proxy);
            let missing = log.missing(ended_ms).map(str::to_owned);
            (log, missing)
        }
        Err(problem) => (NetLog::default(), Some(problem)),
    }
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
    run_delay: &Arc<RunDelay>,
    results: &mut Results,
) -> Result<(), String> {
    let page = attach(setting, visit, browser, events, seen, run_delay).await?;
    page.open(setting.url.as_str()).await?;
    let choosing = match visit {
        Visit::Untouched | Visit::Gpc | Visit::Blocked => page.read_for(setting.observation).await,
        Visit::Declined | Visit::Returning => decline(setting, &page, results).await,
        Visit::AcceptedThenWithdrawn => withdraw(setting, &page, results).await,
    };
    if visit == Visit::Returning {
        results.webrtc_servers = servers(&page).await.unwrap_or_default();
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
    run_delay: &Arc<RunDelay>,
) -> Result<Page, String> {
    let connection = browser.connection.clone();
    let blocked = setting.service.as_deref().filter(|_| visit == Visit::Blocked);
    let blocked = blocked.map(|service| blocked_patterns(service, setting.url.as_str()));
    let blocked = blocked.unwrap_or_default();
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
    Ok(Page { connection, seen: seen.clone(), session, webrtc, run_delay: Arc::clone(run_delay) })
}

async fn decline(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    let pressed = page.choose(Choice::Declined).await;
    results.has_chosen = pressed.is_some();
    let read = page.read_for(setting.observation).await;
    pressed.map(drop).ok_or_else(|| "nothing could be declined".to_owned()).and(read)
}

async fn withdraw(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    let is_whole = results.before.read(page).await;
    results.named_before = named(page).await;
    let Some(Pressed { before_ms, .. }) = page.choose(Choice::Accepted).await else {
        let _ = page.read_for(setting.observation).await;
        return Err("nothing could be accepted".to_owned());
    };
    results.permitted = Some((before_ms, f64::INFINITY));
    page.stay(setting.observation.min(ACCEPTED)).await?;
    let button = page.open_withdrawal().await;
    let answer = page.evaluate(NAMED, true).await;
    let mut until_withdrawal = SoFar::default();
    until_withdrawal.read(page).await;
    let Some(Pressed { before_ms: withdrawn_ms, after_ms }) = page.withdraw(button).await else {
        return Err("nothing could be withdrawn".to_owned());
    };
    results.withdrawn_ms = Some(withdrawn_ms);
    let grace = Duration::from_secs_f64(((after_ms + GRACE_MS - monotonic_ms()) / 1000.0).max(0.0));
    let lost_ms = page.stay(grace).await?.as_secs_f64() * 1000.0;
    results.permitted = Some((before_ms, after_ms + GRACE_MS + lost_ms));
    results.named_at_withdrawal = answer.is_array().then(|| Named::of(&answer));
    results.while_permitted.read(page).await;
    // A page may still change an entry, but an entry that is new because of the withdrawal is not permitted.
    let had =
        |value: &StoredValue| until_withdrawal.stored.iter().any(|it| it.is_same_entry(value));
    results.while_permitted.stored.retain(had);
    results.has_chosen = true;
    page.read_for(setting.observation).await?;
    is_whole
        .then_some(())
        .ok_or_else(|| "the storage before the acceptance could not be read".to_owned())
}

async fn named(page: &Page) -> Named {
    Named::of(&page.evaluate(NAMED, true).await)
}

async fn finish(setting: &Setting<'_>, page: &Page, results: &mut Results) -> Result<(), String> {
    results.tag = tag(page, setting.service.as_deref(), setting.pixels).await;
    results.screenshot = page.screenshot().await;
    results.named = named(page).await;
    let servers = servers(page).await;
    // Behind a proxy, no WebRTC packets show which servers the page uses.
    let named = match servers {
        None if setting.proxy.is_some() => {
            Err("the servers of WebRTC could not be read".to_owned())
        }
        _ => Ok(()),
    };
    results.webrtc_servers.extend(servers.unwrap_or_default());
    let left = page.leave().await;
    results.ended_ms = Some(monotonic_ms());
    let host = host_of(setting.url.as_str()).unwrap_or_default();
    let (stored, read) = page.stored_at_end(&Site::of_host(&host), setting.url).await;
    results.stored = stored;
    read.and(left).and(named)
}
