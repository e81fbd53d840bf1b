//! The arguments of the browser. None of them intercepts, delays or adds a request of a page.

use std::net::SocketAddr;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    pub gpc: bool,
    /// The machine has no user namespaces.
    pub no_sandbox: bool,
    /// The proxy through which it must connect.
    pub proxy: Option<SocketAddr>,
}

const COMMON: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-notifications",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--lang=en-US",
    "--metrics-recording-only",
    "--mute-audio",
    "--net-log-capture-mode=IncludeSensitive",
    "--password-store=basic",
    // Reports are sent within the observation instead of after a minute.
    "--short-reporting-delay",
    // The end of a page runs its handlers instead of freezing it.
    "--disable-features=BackForwardCache,MediaRouter,OptimizationHints,Translate",
    "--window-size=1280,900",
];

const GPC_FEATURES: &str = "--enable-features=GlobalPrivacyControl,GlobalPrivacyControlForce";

/// Nothing passes the proxy by: neither loopback addresses nor look-ups of names, UDP or WebRTC.
const PROXIED: [&str; 5] = [
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
];

pub fn arguments(profile: &Path, net_log: &Path, extra: Extra) -> Vec<String> {
    let mut arguments = COMMON.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>();
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push(format!("--log-net-log={}", net_log.display()));
    if extra.gpc {
        arguments.push(GPC_FEATURES.to_owned());
    }
    if extra.no_sandbox {
        arguments.push("--no-sandbox".to_owned());
    }
    if let Some(proxy) = extra.proxy {
        arguments.push(format!("--proxy-server=socks5://{proxy}"));
        arguments.extend(PROXIED.map(str::to_owned));
    }
    arguments.push("about:blank".to_owned());
    arguments
}
