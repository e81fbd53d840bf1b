//! Screenshots of popups: pages of the service, which a browser without a network shows.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::browser::devtools::{
    Connection, Document, Events, Following, SharedSeen, attach, follow,
};
use crate::browser::run_delay::RunDelay;
use crate::browser::{Browser, Extra, Program, RunFolder, StartError, bounds};
use crate::types::device::Device;

/// The hidden command of this program that takes the screenshots.
pub const COMMAND: &str = "popup-screenshots";

const PICTURE: Duration = Duration::from_secs(15);
const STEP: Duration = Duration::from_millis(20);

/// Waits until the popup has been painted. An inline style makes it transparent in its first frame.
const SHOWN: &str = "new Promise((done) => { const look = () => {
    const frame = document.querySelector('assent-ui')?.shadowRoot?.querySelector('.a');
    if (!frame?.querySelector('.p') || frame.hasAttribute('style')) return setTimeout(look, 20);
    requestAnimationFrame(() => requestAnimationFrame(() => done(true))) }; look() })";

pub fn page_file(language: &str) -> String {
    format!("{language}.html")
}

pub fn picture_file(language: &str, device: Device) -> String {
    format!("{language}-{}.png", device.as_str())
}

pub async fn take_screenshots(folder: &Path, browser: Option<&Path>) -> Result<(), String> {
    let pages = pages_in(folder).map_err(|error| error.to_string())?;
    // A proxy that never answers, so that no page reaches a network.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let proxy = silent.local_addr().map_err(|error| error.to_string())?;
    let run = RunFolder::create()?;
    let program = Program::find(browser, &run)?;
    let (browser, events, profile) = start(&program, &run, proxy).await?;
    let run_delay = Arc::new(RunDelay::of(&profile));
    let taken = tokio::select! {
        taken = take_all(&browser, events, &pages, folder) => taken,
        exceeded = bounds::exceeded(&run_delay, || 0) => Err(exceeded),
    };
    browser.close().await;
    taken
}

fn pages_in(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("html"))
            && let Some(language) = path.file_stem()
        {
            pages.push((language.to_string_lossy().into_owned(), fs::read_to_string(&path)?));
        }
    }
    Ok(pages)
}

async fn start(
    program: &Program,
    run: &RunFolder,
    proxy: SocketAddr,
) -> Result<(Browser, Events, PathBuf), String> {
    for no_sandbox in [false, true] {
        let extra = Extra { no_sandbox, proxy: Some(proxy), ..Extra::default() };
        let name = u8::from(no_sandbox).to_string();
        let profile = run.profile(&name).map_err(|error| error.to_string())?;
        match Browser::start(program, run, &profile, extra).await {
            Ok((browser, events)) => return Ok((browser, events, profile)),
            Err(StartError::NoSandbox) => {}
            Err(StartError::Other(problem)) => return Err(problem),
        }
    }
    Err("the browser has no sandbox and does not start without one".to_owned())
}

async fn take_all(
    browser: &Browser,
    events: Events,
    pages: &[(String, String)],
    folder: &Path,
) -> Result<(), String> {
    let (connection, seen) = (browser.connection.clone(), SharedSeen::default());
    tokio::spawn(follow(connection.clone(), events, Following::default(), seen.clone()));
    connection.post(None, "Browser.setDownloadBehavior", json!({"behavior": "deny"}));
    let session = attach(&connection, &seen).await?;
    let tab = Tab { connection, seen, session };
    let light = json!({"features": [{"name": "prefers-color-scheme", "value": "light"}]});
    tab.call("Emulation.setEmulatedMedia", light).await?;
    for &device in Device::ALL {
        let (width, height) = device.viewport();
        let is_phone = device == Device::Phone;
        let screen =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        tab.call("Emulation.setDeviceMetricsOverride", screen).await?;
        for (language, html) in pages {
            let name = picture_file(language, device);
            let taking = timeout(PICTURE, tab.picture(html)).await;
            let png = taking.map_err(|_| format!("the popup of {name} did not appear"))??;
            fs::write(folder.join(name), png).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

struct Tab {
    connection: Connection,
    seen: SharedSeen,
    session: String,
}

impl Tab {
    async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let called = self.connection.call(Some(&self.session), method, params);
        called.await.map_err(|error| error.to_string())
    }

    async fn picture(&self, html: &str) -> Result<Vec<u8>, String> {
        self.seen.lock().document = Document::default();
        let url = format!("data:text/html;charset=utf-8;base64,{}", BASE64_STANDARD.encode(html));
        let opened = self.call("Page.navigate", json!({"url": url})).await?;
        if let Some(error) = opened["errorText"].as_str() {
            return Err(format!("a page of a popup cannot be loaded: {error}"));
        }
        while !self.seen.lock().document.is_loaded {
            sleep(STEP).await;
        }
        let shown = json!({"expression": SHOWN, "awaitPromise": true, "returnByValue": true});
        if self.call("Runtime.evaluate", shown).await?["result"]["value"] != Value::Bool(true) {
            return Err("a popup did not appear".to_owned());
        }
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"})).await?;
        let png = taken["data"].as_str().and_then(|data| BASE64_STANDARD.decode(data).ok());
        png.ok_or_else(|| "the browser gave no picture".to_owned())
    }
}
