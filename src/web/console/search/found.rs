use serde::Serialize;

use super::search_term::SearchTerm;
use crate::infra::templates::{Message, tr};
use crate::types::ids::PixelId;

/// The maximum number of results that are listed per group.
const MOST: usize = 20;

#[derive(Clone)]
pub struct Site {
    pub id: PixelId,
    pub host: String,
}

impl Site {
    pub fn address(&self, rest: &str) -> String {
        format!("/console/sites/{}/{rest}", self.id)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Sites,
    People,
    Choices,
    Visitors,
    Requests,
}

impl Group {
    const ALL: [Self; 5] =
        [Self::Sites, Self::People, Self::Choices, Self::Visitors, Self::Requests];

    fn name(self) -> Message {
        match self {
            Self::Sites => tr("Sites"),
            Self::People => tr("People"),
            Self::Choices => tr("Choices"),
            Self::Visitors => tr("Visitors"),
            Self::Requests => tr("Erasure requests"),
        }
    }
}

#[derive(Serialize)]
pub struct Found {
    #[serde(skip)]
    pub group: Group,
    /// Whether the whole text is the host, id or email address of the result.
    #[serde(skip)]
    pub is_exact: bool,
    pub title: Message,
    pub details: Vec<Message>,
    pub href: String,
}

#[derive(Serialize)]
pub struct Listed {
    name: Message,
    rows: Vec<Found>,
    is_cut: bool,
}

/// The site, if its host contains the text or its id is the text.
pub fn of_host(site: &Site, term: &SearchTerm) -> Option<Found> {
    let text = term.text.to_lowercase();
    let is_id = site.id.as_str().eq_ignore_ascii_case(&text);
    (is_id || site.host.contains(&text)).then(|| Found {
        group: Group::Sites,
        is_exact: is_id || site.host == text,
        title: Message::plain(&site.host),
        details: Vec::new(),
        href: format!("/console/sites/{}/overview", site.id),
    })
}

/// The address of a result that is the only one, if the text names it exactly.
pub fn only_exact(found: &[Found]) -> Option<&str> {
    match found {
        [only] if only.is_exact => Some(&only.href),
        _ => None,
    }
}

/// The groups that are not empty, exact results first.
pub fn grouped(mut found: Vec<Found>) -> Vec<Listed> {
    found.sort_by_key(|found| !found.is_exact);
    let mut groups = Vec::new();
    for group in Group::ALL {
        let (mut rows, rest) = found.into_iter().partition::<Vec<_>, _>(|it| it.group == group);
        found = rest;
        let is_cut = rows.len() > MOST;
        rows.truncate(MOST);
        if !rows.is_empty() {
            groups.push(Listed { name: group.name(), rows, is_cut });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(host: &str) -> Site {
        Site { id: PixelId::from(format!("px_{host}")), host: host.to_owned() }
    }

    fn found(text: &str, hosts: &[&str]) -> Vec<Found> {
        let term = SearchTerm::typed(text);
        hosts.iter().filter_map(|host| of_host(&site(host), &term)).collect()
    }

    #[test]
    fn only_a_single_exact_result_is_opened() {
        let only = found("Shop.Example", &["shop.example", "news.example"]);
        assert_eq!(only_exact(&only), Some("/console/sites/px_shop.example/overview"));
        assert_eq!(only_exact(&found("shop", &["shop.example"])), None);
        let two = found("shop.example", &["eu.shop.example", "shop.example"]);
        assert_eq!((two.len(), only_exact(&two)), (2, None));
        assert_eq!(grouped(two)[0].rows[0].href, "/console/sites/px_shop.example/overview");
    }

    #[test]
    fn a_long_group_is_cut() {
        let hosts = (0..21).map(|number| format!("{number}.example")).collect::<Vec<_>>();
        let hosts = hosts.iter().map(String::as_str).collect::<Vec<_>>();
        let groups = grouped(found("example", &hosts));
        assert!(groups[0].is_cut && groups[0].rows.len() == MOST);
    }
}
