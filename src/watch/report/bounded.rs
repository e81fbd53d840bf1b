//! Shortens reports that are longer than a service accepts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem::take;

use super::model::{Page, Report, VisitReport};
use super::shortened::shorten;
use crate::verdict::Leak;

/// The longest `report.json` that a service accepts, in bytes.
pub const MAX_JSON: usize = 1 << 20;
/// The longest one that is written: evidence limits a report together with its note to `MAX_JSON`.
const MAX_WRITTEN: usize = MAX_JSON - (64 << 10);
/// Enough characters for a host name and the beginning of a path.
const MAX_ADDRESS: usize = 300;

/// One way to make a report shorter.
#[derive(Clone, Copy)]
enum Step {
    /// Limits the elements of each page.
    Elements(usize),
    /// Limits the characters of addresses and names.
    Texts(usize),
    /// Limits the entries of one host and kind in each list.
    OfKind(usize),
    /// Lists a host and kind only in the first visit in which it leaked; each visit keeps its first leak.
    Once,
    /// Limits the entries of each list except the leaks.
    Others(usize),
    /// Limits the leaks of each visit.
    Leaks(usize),
}

/// Applied in this order until a report fits. Only the steps after `Once` remove leaking hosts.
const STEPS: [Step; 19] = [
    Step::Elements(50),
    Step::Texts(MAX_ADDRESS),
    Step::OfKind(50),
    Step::OfKind(20),
    Step::OfKind(10),
    Step::OfKind(5),
    Step::OfKind(2),
    Step::OfKind(1),
    Step::Texts(100),
    Step::Others(50),
    Step::Once,
    Step::Others(5),
    Step::Leaks(500),
    Step::Leaks(200),
    Step::Leaks(100),
    Step::Leaks(50),
    Step::Leaks(10),
    Step::Others(1),
    Step::Leaks(1),
];

/// Returns the JSON of a report, which is shortened until it fits. A visit that leaked keeps a leak.
pub fn fitting_json(report: &mut Report) -> serde_json::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(&*report)?;
    let not_covered = report.not_covered.clone();
    let (entries, hosts) = (count_entries(report), leaking_hosts(report));
    for step in STEPS {
        if json.len() <= MAX_WRITTEN {
            break;
        }
        step.apply(report);
        let left_out = entries - count_entries(report);
        let unnamed = hosts.difference(&leaking_hosts(report)).count();
        let sentence = format!(
            "What does not fit into a report of 1 MiB. Entries that are left out: {left_out}. Leaking hosts that \
             are not named: {unnamed}. Long addresses and names end with an ellipsis. Lines to paste may lack \
             attributes."
        );
        report.not_covered = [not_covered.clone(), vec![sentence]].concat();
        json = serde_json::to_vec_pretty(&*report)?;
    }
    Ok(json)
}

fn count_entries(report: &Report) -> usize {
    let visits = report.pages.iter().flat_map(|page| &page.visits);
    let entries = visits.map(|visit| {
        let leaks = visit.leaks.len() + visit.allowed.len();
        leaks + visit.kept.len() + visit.cookies.len() + visit.storage.len()
    });
    entries.sum()
}

fn leaking_hosts(report: &Report) -> BTreeSet<String> {
    let visits = report.pages.iter().flat_map(|page| &page.visits);
    visits.flat_map(|visit| &visit.leaks).map(|leak| leak.host.clone()).collect()
}

impl Step {
    fn apply(self, report: &mut Report) {
        let mut named = BTreeSet::new();
        for page in &mut report.pages {
            if let (Self::Texts(most), Some(tag)) = (self, &mut page.tag) {
                shorten(&mut tag.url, most);
                shorten(&mut tag.pixel, most);
            }
            if let Self::Elements(most) | Self::Others(most) = self {
                page.elements.truncate(most);
            }
            for visit in &mut page.visits {
                match self {
                    Self::Texts(most) => shorten_texts(visit, most),
                    Self::OfKind(most) => keep_of_each_kind(visit, most),
                    Self::Once => {
                        let mut is_first = true;
                        visit.leaks.retain(|leak| {
                            let is_new = named.insert((leak.host.clone(), leak.kind));
                            take(&mut is_first) || is_new
                        });
                    }
                    Self::Others(most) => {
                        visit.allowed.truncate(most);
                        for list in [&mut visit.kept, &mut visit.cookies, &mut visit.storage] {
                            list.truncate(most);
                        }
                    }
                    Self::Leaks(most) => visit.leaks.truncate(most),
                    Self::Elements(_) => {}
                }
            }
            keep_elements_of_leaks(page);
        }
    }
}

/// Removes elements whose leaks are no longer listed, or are listed with shortened addresses.
fn keep_elements_of_leaks(page: &mut Page) {
    let leaks = page.visits.iter().flat_map(|visit| visit.leaks.iter().chain(&visit.allowed));
    let known = leaks.map(|leak| (leak.kind.name(), leak.url.as_str())).collect::<HashSet<_>>();
    page.elements.retain(|element| known.contains(&(element.kind.as_str(), element.url.as_str())));
}

fn shorten_texts(visit: &mut VisitReport, most: usize) {
    if let Some(reason) = &mut visit.unobserved {
        shorten(reason, MAX_ADDRESS);
    }
    for leak in visit.leaks.iter_mut().chain(&mut visit.allowed) {
        shorten(&mut leak.url, most);
        if let Some(cause) = &mut leak.initiator {
            shorten(&mut cause.url, most);
        }
        if let Some(facts) = &mut leak.identifier {
            shorten(&mut facts.name, most);
        }
    }
    for entry in visit.kept.iter_mut().chain(&mut visit.cookies).chain(&mut visit.storage) {
        shorten(&mut entry.name, most);
    }
}

fn keep_of_each_kind(visit: &mut VisitReport, most: usize) {
    for list in [&mut visit.leaks, &mut visit.allowed] {
        keep_of_each(list, most, |leak: &Leak| (leak.host.clone(), leak.kind));
    }
    for list in [&mut visit.kept, &mut visit.cookies, &mut visit.storage] {
        keep_of_each(list, most, |entry| (entry.host.clone(), entry.store.clone()));
    }
}

/// Keeps the first `most` entries with the same key.
fn keep_of_each<T, K: Ord>(list: &mut Vec<T>, most: usize, key: impl Fn(&T) -> K) {
    let mut counts = BTreeMap::new();
    list.retain(|entry| {
        let count = counts.entry(key(entry)).or_insert(0_usize);
        *count += 1;
        *count <= most
    });
}
