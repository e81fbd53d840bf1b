//! The elements of a page that loaded leaking scripts and frames.

use std::collections::{HashMap, HashSet};

use crate::browser::site::without_fragment;
use crate::verdict::VisitVerdict;
use crate::visit::{Element, Observation};

/// The elements of leaking scripts and frames, with the addresses of their leaks. If several elements or visits have
/// the same address, the first one counts.
pub fn elements_of(observations: &[Observation], verdicts: &[VisitVerdict]) -> Vec<Element> {
    let mut seen = HashMap::new();
    for element in observations.iter().flat_map(|observation| &observation.named.elements) {
        seen.entry((element.kind.as_str(), without_fragment(&element.url))).or_insert(element);
    }
    let mut listed = HashSet::new();
    let leaks = verdicts.iter().flat_map(|verdict| verdict.leaks.iter().chain(&verdict.allowed));
    let elements = leaks.filter(|leak| listed.insert((leak.kind, leak.url.as_str())));
    let elements = elements.filter_map(|leak| {
        let address = (leak.kind.name(), without_fragment(&leak.url));
        let element = seen.get(&address).filter(|element| !element.attributes.is_empty())?;
        let (kind, attributes) = (element.kind.clone(), element.attributes.clone());
        Some(Element { url: leak.url.clone(), kind, attributes })
    });
    elements.collect()
}
