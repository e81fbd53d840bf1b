//! The consent tag among the scripts of a page.

use std::time::Duration;

use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::browser::site::host_of;
use crate::browser::tag_service::{is_consent_tag, is_wanted, pixel_of, purposes_of};

use super::observation::TagSeen;
use super::page::Page;

/// Time limit for reading all scripts with the address of a tag.
const READING: Duration = Duration::from_secs(3);

/// The first tag of the service, preferably of a wanted pixel. If the service is unknown, the text of a script must
/// show that it is a tag of its own host.
pub async fn tag(page: &Page, service: Option<&str>, wanted: &[String]) -> Option<TagSeen> {
    let mut scripts = page.seen.lock().tags.clone();
    scripts.retain(|script| service.is_none() || host_of(&script.url).as_deref() == service);
    scripts
        .sort_by_key(|script| !pixel_of(&script.url).is_some_and(|name| is_wanted(&name, wanted)));
    let reading = async {
        for script in scripts {
            let text = text(page, &script.request, &script.session).await;
            let is_tag = service.is_some()
                || text.as_ref().is_some_and(|text| is_consent_tag(&script.url, text));
            if is_tag {
                let purposes = text.as_deref().map(purposes_of).unwrap_or_default();
                let sha256 = text.map(|text| hex::encode(Sha256::digest(text.as_bytes())));
                return Some(TagSeen { url: script.url, sha256, purposes });
            }
        }
        None
    };
    timeout(READING, reading).await.ok().flatten()
}

/// The text of a response, unless the browser no longer has it.
async fn text(page: &Page, request: &str, session: &str) -> Option<String> {
    let body = json!({"requestId": request});
    let body = page.connection.call(Some(session), "Network.getResponseBody", body).await.ok()?;
    body["body"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
