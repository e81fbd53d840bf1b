use crate::browser::devtools::Seen;
use crate::browser::site::{Site, host_of, is_within};
use crate::browser::tag_service::Service;

/// A page, and the settings on which its verdicts depend.
pub struct Case<'c> {
    pub url: &'c str,
    pub site: Site,
    pub service: Option<&'c Service>,
    pub allowed: &'c [String],
    /// The DevTools events of all visits, to find the cause of a request if one visit missed it.
    pub seen: Vec<&'c Seen>,
    /// The names of the pixel whose tag must be on the page, its id first; empty for any.
    pub pixels: &'c [String],
}

impl Case<'_> {
    /// Whether a request to the URL needs consent, judged by its destination.
    pub fn is_foreign(&self, url: &str) -> bool {
        let Some(host) = host_of(url) else { return false };
        match self.service.filter(|service| service.has(url)) {
            Some(service) if self.is_other_site(&host) => !service.is_exempt(url),
            Some(_) => Service::is_identification(url),
            None => self.is_other_site(&host),
        }
    }

    pub fn is_other_site(&self, host: &str) -> bool {
        Site::of_host(host) != self.site
    }

    pub fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|allowed| is_within(host, allowed))
    }
}
