//! Apps whose `client_id` is the https address of their metadata (client-id metadata documents).

use url::{Host, Url};

use super::client::Client;
use super::client_metadata::ClientMetadata;
use super::refusal::Refusal;
use crate::infra::fetch::GuardedFetch;

const MOST_BYTES: usize = 5 * 1024;
const MOST_ADDRESS: usize = 400;

/// Parses a `client_id` that is the address of a document; `None` for other ids.
pub fn address_of(client_id: &str) -> Option<Url> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}'".contains(&byte);
    if client_id.len() > MOST_ADDRESS || !client_id.bytes().all(is_plain) {
        return None;
    }
    let url = Url::parse(client_id).ok()?;
    let is_admitted = url.scheme() == "https"
        && matches!(url.host(), Some(Host::Domain(_)))
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && url.path().len() > 1;
    // Only the normalised form is accepted, so that dots in the path cannot refer to another document.
    (is_admitted && url.as_str() == client_id).then_some(url)
}

pub async fn fetch(fetch: &GuardedFetch, url: &Url) -> Result<Client, Refusal> {
    let wrong = |said| Refusal::new("invalid_client", said);
    let bytes = fetch.document(url, MOST_BYTES).await.map_err(|error| {
        tracing::info!(%error, "the document of an app could not be fetched");
        wrong("the document at the address of the client_id cannot be fetched")
    })?;
    read(url, &bytes)
}

fn read(url: &Url, bytes: &[u8]) -> Result<Client, Refusal> {
    let wrong = |said| Refusal::new("invalid_client", said);
    let metadata = ClientMetadata::read(bytes)
        .map_err(|_| wrong("the document at the address of the client_id describes no app"))?;
    if metadata.client_id.as_deref() != Some(url.as_str()) {
        return Err(wrong("the document names another client_id than its address"));
    }
    let method = metadata.token_endpoint_auth_method.as_deref();
    if method.is_some_and(|method| method != "none") {
        return Err(wrong("the document must name none as token_endpoint_auth_method"));
    }
    let redirect_uris = metadata
        .redirect_uris()
        .map_err(|_| wrong("the document names a redirect URI that is not permitted"))?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let (client_id, name) = (url.as_str().to_owned(), metadata.name(&host));
    Ok(Client { client_id, name, host: Some(host), redirect_uris })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_with_a_path_in_its_normal_form() {
        for client_id in ["https://app.example/client.json", "https://app.example/a/b?c=d"] {
            assert!(address_of(client_id).is_some(), "{client_id}");
        }
        let long = format!("https://app.example/{}", "x".repeat(400));
        for client_id in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example:8443/client.json",
            "https://user@app.example/client.json",
            "https://127.0.0.1/client.json",
            "https://[::1]/client.json",
            "https://2130706433/client.json",
            "https://0x7f.1/client.json",
            "https://app.example/a/../client.json",
            "https://app.example/%2e%2e/client.json",
            "https://APP.example/client.json",
            "https://app.example/client.json#x",
            "https:app.example/client.json",
            "https://app.example\\client.json",
            "https://app.exämple/client.json",
            "file:///etc/passwd",
            "oc_something",
            "",
            &long,
        ] {
            assert!(address_of(client_id).is_none(), "{client_id}");
        }
    }

    #[test]
    fn a_document_describes_the_app_at_its_own_address() {
        let url = address_of("https://app.example/client.json").unwrap();
        let document = |changed: &str| {
            format!(
                r#"{{"client_id": "https://app.example/client.json", "client_name": "An\u202e app",
                    "redirect_uris": ["https://app.example/cb"] {changed}}}"#
            )
        };
        let client = read(&url, document("").as_bytes()).unwrap();
        assert_eq!((&*client.name, client.host.as_deref()), ("An app", Some("app.example")));
        let other = document("").replace("app.example/client", "other.example/client");
        for wrong in [
            other.as_str(),
            &document(r#", "token_endpoint_auth_method": "client_secret_basic""#),
            &document("").replace("https://app.example/cb", "javascript:alert(1)"),
            &document("").replace(r#"["https://app.example/cb"]"#, "[]"),
            &document("").replace(r#"["https://app.example/cb"]"#, "7"),
            "[]",
            "",
            "<html>",
        ] {
            assert!(read(&url, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
