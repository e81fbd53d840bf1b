//! WebRTC servers, from the browser's own list of connections.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use super::page::Page;

/// The servers that the page has named so far, by host and port. The browser forgets those of a page that has ended.
/// `None` if it does not answer.
pub async fn servers(page: &Page) -> Option<Vec<(String, u16)>> {
    let targets = page.seen.lock().targets.clone();
    let (_, session) = targets.into_iter().find(|(target, _)| *target == page.webrtc)?;
    let params = json!({"expression": "document.documentElement.innerText", "returnByValue": true});
    let asking = page.connection.call(Some(&session), "Runtime.evaluate", params);
    let answer = timeout(Duration::from_secs(2), asking).await.ok()?.ok()?;
    Some(servers_in(answer["result"]["value"].as_str()?))
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
