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
    // Pages run their unload handlers instead of being frozen in the back/forward cache.
    "--disable-back-forward-cache",
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
    // The browser uses only the last such list: one that a script named by `--browser` adds replaces this one.
    "--disable-features=AutofillServerCommunication,BackForwardCache,MediaRouter,OptimizationHints,Translate",
    "--window-size=1280,900",
];

/// The preferences of a new profile, which apply even if the list of features is replaced. With the password manager or
/// autofill, the browser asks a server about form fields, and its network log attributes that to the page.
pub const PREFERENCES: &str = r#"{
    "autofill": {"credit_card_enabled": false, "profile_enabled": false},
    "credentials_enable_service": false,
    "translate": {"enabled": false}
}"#;

const GPC_FEATURES: &str = "--enable-features=GlobalPrivacyControl,GlobalPrivacyControlForce";

/// Nothing bypasses the proxy: neither loopback connections, nor name lookups, UDP or WebRTC.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str};

    use super::*;

    #[test]
    fn what_changes_a_verdict_is_off_without_the_list_of_features() {
        let path = Path::new("/profile");
        let all = arguments(path, path, Extra::default());
        assert!(all.iter().any(|argument| argument == "--disable-back-forward-cache"));
        let preferences = from_str::<Value>(PREFERENCES).unwrap();
        let names = [
            "/autofill/credit_card_enabled",
            "/autofill/profile_enabled",
            "/credentials_enable_service",
        ];
        for name in names {
            assert_eq!(preferences.pointer(name), Some(&Value::Bool(false)), "{name}");
        }
    }
}
