//! `report.json`, of the schema `assent/watch/v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::elements::elements_of;
use super::folder::picture_name;
use super::gated::GatedLines;
use crate::browser::tag_service::{Service, pixel_of};
use crate::verdict::{Leak, Listed, VisitVerdict};
use crate::visit::{Element, Observation, Screenshot, Visit};

/// The pages of a run, with the browser that visited them.
pub struct Outcome {
    pub pages: Vec<Page>,
    pub browser: String,
    pub has_sandbox: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub schema: String,
    pub program: String,
    /// The time of the report: RFC 3339, UTC.
    pub time: String,
    /// The verifier key of the watcher (c2sp.org/signed-note).
    pub watcher: String,
    pub browser: BrowserFacts,
    /// Seconds of observation of each visit.
    pub seconds: f64,
    pub not_covered: Vec<String>,
    pub pages: Vec<Page>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BrowserFacts {
    pub version: String,
    /// False where the machine has no user namespaces.
    pub sandbox: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    pub url: String,
    /// The host of the service, if the page has a tag or one was given.
    pub service: Option<String>,
    pub tag: Option<TagFacts>,
    /// Elements of the page that loaded leaking scripts and frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<Element>,
    pub visits: Vec<VisitReport>,
}

/// The tag as the page loaded it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TagFacts {
    pub url: String,
    /// The pixel's id or alias.
    pub pixel: String,
    /// SHA-256 of the script, lowercase hex.
    pub sha256: Option<String>,
    /// The purposes for which it asks; missing if its script could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purposes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct VisitReport {
    pub visit: Visit,
    /// Null if the visit does not count as observed.
    pub silent: Option<bool>,
    /// The reason why it does not.
    pub unobserved: Option<String>,
    pub leaks: Vec<Leak>,
    /// Leaks to what `--allow` names.
    pub allowed: Vec<Leak>,
    /// Identifiers from the time of an acceptance that are still stored after the withdrawal.
    pub kept: Vec<Listed>,
    /// Cookies that are no identifiers, by name.
    pub cookies: Vec<Listed>,
    /// Entries of storage that are no identifiers, by name.
    pub storage: Vec<Listed>,
    pub screenshot: Option<ScreenshotFacts>,
    #[serde(skip)]
    pub picture: Option<Screenshot>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScreenshotFacts {
    pub file: String,
    pub sha256: String,
}

impl Page {
    pub fn new(
        url: &Url,
        service: Option<&Service>,
        observations: Vec<Observation>,
        verdicts: Vec<VisitVerdict>,
    ) -> Self {
        let tag = observations.iter().find_map(|observation| observation.tag.clone());
        let tag = tag.map(|tag| TagFacts {
            pixel: pixel_of(&tag.url).unwrap_or_default(),
            url: tag.url,
            sha256: tag.sha256,
            purposes: tag.purposes,
        });
        let elements = elements_of(&observations, &verdicts);
        let pictures = observations.into_iter().map(|observation| observation.screenshot);
        let visits = verdicts.into_iter().zip(pictures).map(|(verdict, picture)| {
            let silent = verdict.silent();
            let (cookies, storage) =
                verdict.listed.into_iter().partition(|entry| entry.store == "cookie");
            VisitReport {
                visit: verdict.visit,
                silent,
                unobserved: verdict.unobserved,
                leaks: verdict.leaks,
                allowed: verdict.allowed,
                kept: verdict.kept,
                cookies,
                storage,
                screenshot: None,
                picture,
            }
        });
        let mut visits = visits.collect::<Vec<_>>();
        for visit in Visit::ALL {
            if !visits.iter().any(|made| made.visit == visit) {
                visits.push(VisitReport::missing(visit));
            }
        }
        let service = service.map(|service| service.host.clone());
        Self { url: url.as_str().to_owned(), service, tag, elements, visits }
    }

    /// The lines to paste for its leaks.
    pub fn gated_lines(&self) -> GatedLines<'_> {
        let purposes = self.tag.as_ref().map(|tag| tag.purposes.as_slice()).unwrap_or_default();
        GatedLines::new(purposes, &self.elements)
    }

    /// Whether all visits were made, observed and silent. A submitted report may lack visits.
    fn is_silent(&self) -> bool {
        let is_made = |visit: &Visit| self.visits.iter().any(|made| made.visit == *visit);
        Visit::ALL.iter().all(is_made) && self.visits.iter().all(|made| made.silent == Some(true))
    }
}

impl VisitReport {
    fn missing(visit: Visit) -> Self {
        Self {
            visit,
            silent: None,
            unobserved: Some("the time of the page was over".to_owned()),
            leaks: Vec::new(),
            allowed: Vec::new(),
            kept: Vec::new(),
            cookies: Vec::new(),
            storage: Vec::new(),
            screenshot: None,
            picture: None,
        }
    }
}

impl Report {
    /// The exit code: 1 if anything leaked, else 2 if any of the six visits was not observed or is missing, else 0.
    pub fn exit_code(&self) -> u8 {
        let visits = || self.pages.iter().flat_map(|page| &page.visits);
        if visits().any(|visit| !visit.leaks.is_empty()) {
            1
        } else if !self.pages.is_empty() && self.pages.iter().all(Page::is_silent) {
            0
        } else {
            2
        }
    }

    pub fn take_pictures(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut pictures = Vec::new();
        for (number, page) in self.pages.iter_mut().enumerate() {
            for visit in &mut page.visits {
                let Some(Screenshot(bytes)) = visit.picture.take() else { continue };
                let file = picture_name(number + 1, visit.visit);
                let sha256 = hex::encode(Sha256::digest(&bytes));
                visit.screenshot = Some(ScreenshotFacts { file: file.clone(), sha256 });
                pictures.push((file, bytes));
            }
        }
        pictures
    }
}

/// Describes a leak on one line.
pub fn sentence(page: &Page, visit: &VisitReport, leak: &Leak) -> String {
    let visit = visit.visit.name();
    match &leak.identifier {
        Some(identifier) => format!(
            "{} \"{}\" of {} ({visit} visit of {}): {}",
            identifier.store, identifier.name, leak.host, page.url, identifier.reason
        ),
        None => format!(
            "{} from {} after {} ms ({visit} visit of {}): {}",
            leak.kind.name(),
            leak.host,
            leak.at_ms,
            page.url,
            leak.url
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::format::watch_report::{SCHEMA, VISITS};

    fn report(visits: &[Visit]) -> Report {
        let silent = visits.iter().map(|visit| VisitReport {
            silent: Some(true),
            unobserved: None,
            ..VisitReport::missing(*visit)
        });
        let visits = silent.collect();
        Report {
            schema: SCHEMA.to_owned(),
            program: "1.0.0".to_owned(),
            time: "2026-03-01T00:00:00.000Z".to_owned(),
            watcher: String::new(),
            browser: BrowserFacts { version: String::new(), sandbox: true },
            seconds: 4.0,
            not_covered: Vec::new(),
            pages: vec![Page {
                url: String::new(),
                service: None,
                tag: None,
                elements: Vec::new(),
                visits,
            }],
        }
    }

    #[test]
    fn a_report_is_silent_only_with_all_visits_of_every_page() {
        assert_eq!(report(&Visit::ALL).exit_code(), 0);
        for count in 0..Visit::ALL.len() {
            assert_eq!(report(&Visit::ALL[..count]).exit_code(), 2, "{count} visits");
        }
        assert_eq!(report(&[Visit::Untouched; 6]).exit_code(), 2);
        let mut two_pages = report(&Visit::ALL);
        two_pages.pages.append(&mut report(&[]).pages);
        assert_eq!(two_pages.exit_code(), 2);
        let mut no_page = report(&[]);
        no_page.pages.clear();
        assert_eq!(no_page.exit_code(), 2);
        for silent in [Some(false), None] {
            let mut unlike = report(&Visit::ALL);
            unlike.pages[0].visits[5].silent = silent;
            assert_eq!(unlike.exit_code(), 2, "{silent:?}");
        }
    }

    #[test]
    fn proofs_name_the_same_visits() {
        assert_eq!(Visit::ALL.map(Visit::name), VISITS);
    }

    /// Run with `UPDATE_SNAPSHOTS=1` after a change of the report.
    #[test]
    fn the_published_schema_is_that_of_the_report() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/watch.schema.json");
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(Report)).unwrap() + "\n";
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(path, &schema).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), schema);
    }
}
