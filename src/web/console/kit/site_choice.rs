//! The form fields that restrict a member or a key to sites.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::form::Form;
use super::member::Member;
use super::words::sites;
use crate::accounts::capability::NoInput;
use crate::accounts::scope::Scope;
use crate::accounts::site_choice::MOST_SITES;
use crate::error::Result;
use crate::infra::templates::{Message, tr};
use crate::pixels::setup::ListPixels;

const NAMED: usize = 3;

/// The sites that a form has chosen.
#[derive(Default)]
pub struct SiteChoice {
    is_some: bool,
    pixels: Vec<String>,
}

#[derive(Serialize)]
pub struct SiteFields {
    is_some: bool,
    sites: Vec<Value>,
}

impl SiteChoice {
    pub fn of(form: &Form) -> Self {
        let pixels = match form.get("pixels") {
            // The page that asks for a code sends the selection in one field: see `hidden`.
            Some(listed) => listed.split(',').map(str::to_owned).collect(),
            None => form.names_after("site-"),
        };
        Self { is_some: form.get("sites") == Some("some"), pixels }
    }

    pub fn stored(pixels: Option<&[String]>) -> Self {
        Self {
            is_some: pixels.is_some(),
            pixels: pixels.map(<[String]>::to_vec).unwrap_or_default(),
        }
    }

    /// The pixels; `None` for all sites.
    pub fn pixels(&self) -> Option<Vec<String>> {
        self.is_some.then(|| self.pixels.clone())
    }

    /// The error if the fields contradict each other or the role of a member.
    pub fn problem(&self, role: Option<Scope>) -> Option<Message> {
        match (self.is_some, self.pixels.is_empty()) {
            (true, true) => Some(tr("Tick at least one site.")),
            (false, false) => Some(tr("You ticked sites: choose “Only these”, or untick them.")),
            (true, false) if role == Some(Scope::Full) => {
                Some(tr("An Admin has all sites. Choose another role, or all sites."))
            }
            (true, false) if self.pixels.len() > MOST_SITES => Some(tr("Tick at most 100 sites.")),
            _ => None,
        }
    }

    /// The hidden fields of a page that asks for a code before the form takes effect.
    pub fn hidden(&self) -> Vec<(&'static str, String)> {
        match self.is_some {
            true => vec![("sites", "some".to_owned()), ("pixels", self.pixels.join(","))],
            false => Vec::new(),
        }
    }

    pub fn fields(&self, hosts: &Hosts) -> SiteFields {
        let site = |(id, host): &(String, String)| {
            let is_on = self.pixels.contains(id);
            json!({"id": id, "host": host, "is_on": is_on})
        };
        SiteFields { is_some: self.is_some, sites: hosts.0.iter().map(site).collect() }
    }
}

/// The account's sites, oldest first: the id of the pixel and the host.
pub struct Hosts(Vec<(String, String)>);

impl Hosts {
    pub async fn of(member: &Member<'_>) -> Result<Self> {
        let pixels = member.ask::<ListPixels>(NoInput {}).await?.pixels;
        let host = pixels.into_iter().map(|it| (it.pixel_id.to_string(), it.domain.to_string()));
        Ok(Self(host.collect()))
    }

    /// The sites of a key or a member, as text. Deleted sites are not counted.
    pub fn named(&self, pixels: Option<&[String]>) -> Message {
        let Some(pixels) = pixels else { return tr("all") };
        let known = self.0.iter().map(|(id, host)| (&**id, &**host)).collect::<HashMap<_, _>>();
        let hosts = pixels.iter().filter_map(|id| known.get(&**id).copied()).collect::<Vec<_>>();
        match hosts.len() {
            1..=NAMED => Message::Plain(hosts.join(", ")),
            many => sites(i64::try_from(many).unwrap_or(i64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    fn choice(is_some: bool, pixels: &[&str]) -> SiteChoice {
        SiteChoice { is_some, pixels: pixels.iter().map(|&it| it.to_owned()).collect() }
    }

    #[test]
    fn contradictory_fields_are_found() {
        assert!(choice(true, &["a"]).problem(Some(Scope::Read)).is_none());
        assert!(choice(true, &["a"]).problem(None).is_none());
        assert!(choice(false, &[]).problem(Some(Scope::Full)).is_none());
        for (wrong, role) in [(choice(true, &[]), None), (choice(false, &["a"]), None)] {
            assert!(wrong.problem(role).is_some());
        }
        assert!(choice(true, &["a"]).problem(Some(Scope::Full)).is_some());
    }

    #[test]
    fn sites_are_named_or_counted() {
        let hosts = ["a", "b", "c", "d"].map(|id| (id.to_owned(), format!("{id}.example")));
        let hosts = Hosts(hosts.to_vec());
        let named = |pixels: &[&str]| {
            let pixels = pixels.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
            in_english(&hosts.named(Some(&pixels)))
        };
        assert_eq!(in_english(&hosts.named(None)), "all");
        assert_eq!(named(&["b", "gone"]), "b.example");
        assert_eq!(named(&["a", "b", "c", "d"]), "4 sites");
        assert_eq!(named(&["gone"]), "no sites");
    }
}
