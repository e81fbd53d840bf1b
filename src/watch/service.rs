//! The service whose tag is on a page, and which of its addresses are exempt.

use url::Url;

use super::site::host_of;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub host: String,
}

impl Service {
    pub fn of(url: &str) -> Option<Self> {
        host_of(url).map(|host| Self { host })
    }

    pub fn has(&self, url: &str) -> bool {
        host_of(url).as_deref() == Some(self.host.as_str())
    }

    /// Whether the address is the tag, one of its scripts, a policy or notice, or a route of consent.
    pub fn is_exempt(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let path = url.path();
        tag_name(path).is_some()
            || matches!(path, "/preferences.js" | "/extras.js")
            || ["/v1/consent/", "/v1/policy/"].iter().any(|start| path.starts_with(start))
    }

    /// Whether the address belongs to identification, which needs consent like any other.
    pub fn is_identification(url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let path = url.path();
        matches!(path, "/pixel.js" | "/pixel.dev.js" | "/pixel_popup.js")
            || path.ends_with("/install-pixel/tag-pixel")
            || path.starts_with("/pixels/") && path.ends_with("/p.js")
    }
}

fn tag_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/px/")?.strip_suffix(".js")?;
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    is_name(name).then_some(name)
}

pub fn is_tag(url: &str) -> bool {
    pixel_of(url).is_some()
}

pub fn pixel_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    tag_name(url.path()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identification_is_not_exempt() {
        let service = Service::of("https://consent.example/px/abc.js?lang=de").unwrap();
        for path in ["/px/a-B_1.js?x", "/preferences.js?lang=en&1", "/v1/consent/record"] {
            assert!(service.is_exempt(&format!("https://consent.example{path}")), "{path}");
        }
        let identification =
            ["/pixel.js", "/pixels/abc/p.js", "/external_api/install-pixel/tag-pixel?x=1"];
        for path in identification {
            let url = format!("https://consent.example{path}");
            assert!(!service.is_exempt(&url) && Service::is_identification(&url), "{path}");
        }
        assert!(!service.is_exempt("https://consent.example/v1/pixels"));
        assert!(!service.has("https://other.consent.example/px/abc.js"));
    }
}
