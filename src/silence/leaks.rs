//! The leaks of a report, each once for all of its visits.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::watch::Leak;
use crate::watch::report::{Report, remedy};

const MAX_LINES: usize = 100;

/// A leak, and the visits in which it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct LeakLine {
    /// The host requested or connected to; for an identifier its owner.
    pub host: String,
    /// For example `script`, `image` or `cookie`.
    pub kind: String,
    pub url: String,
    /// The name of a cookie or an entry of storage.
    #[schema(required = true)]
    pub name: Option<String>,
    pub visits: Vec<String>,
    /// The script or document that caused it, where it is known.
    #[schema(required = true)]
    pub script: Option<String>,
    #[schema(required = true)]
    pub line: Option<u64>,
    /// The line to paste instead, which waits for consent; for scripts and frames.
    #[schema(required = true)]
    pub gated: Option<String>,
}

impl LeakLine {
    fn of(leak: &Leak, visit: &str) -> Self {
        Self {
            host: leak.host.clone(),
            kind: leak.kind.name().to_owned(),
            url: leak.url.clone(),
            name: leak.identifier.as_ref().map(|facts| facts.name.clone()),
            visits: vec![visit.to_owned()],
            script: leak.initiator.as_ref().map(|cause| cause.url.clone()),
            line: leak.initiator.as_ref().map(|cause| cause.line),
            gated: remedy(leak),
        }
    }

    fn is_of(&self, leak: &Leak) -> bool {
        let name = leak.identifier.as_ref().map(|facts| &facts.name);
        (&self.host, self.kind.as_str(), &self.url, self.name.as_ref())
            == (&leak.host, leak.kind.name(), &leak.url, name)
    }
}

pub fn lines_of(report: &Report) -> Vec<LeakLine> {
    let mut lines = Vec::<LeakLine>::new();
    for visit in report.pages.iter().flat_map(|page| &page.visits) {
        let visit_name = visit.visit.name();
        for leak in &visit.leaks {
            let Some(line) = lines.iter_mut().find(|line| line.is_of(leak)) else {
                if lines.len() < MAX_LINES {
                    lines.push(LeakLine::of(leak, visit_name));
                }
                continue;
            };
            if line.visits.last().is_none_or(|last| last != visit_name) {
                line.visits.push(visit_name.to_owned());
            }
        }
    }
    lines
}

/// Sentences about the visits that do not count as observed.
pub fn unobserved(report: &Report) -> Vec<String> {
    let visits = report.pages.iter().flat_map(|page| &page.visits);
    let unobserved = visits.filter(|visit| visit.silent.is_none()).map(|visit| {
        let reason = visit.unobserved.as_deref().unwrap_or("no reason is known");
        format!("{}: {reason}", visit.visit.name())
    });
    unobserved.take(MAX_LINES).collect()
}
