//! The frame of every screen: navigation, the member, and the equivalent API calls.

use serde::Serialize;

use super::paused::Paused;
use crate::accounts::members::member::Member;
use crate::accounts::scope::Scope;
use crate::infra::templates::{Message, tr};
use crate::pixels::other_sites::OtherSite;
use crate::pixels::view::PixelView;

/// The screens of a site, in the order of their list: the last part of the address, and the name.
pub const SITE_SCREENS: &[(&str, Message)] = &[
    ("overview", tr("Overview")),
    ("choices", tr("Choices")),
    ("popup", tr("Popup")),
    ("contacts", tr("Contacts")),
    ("requests", tr("Erasure requests")),
    ("install", tr("Install")),
    ("test", tr("Test")),
    ("watch", tr("Watch")),
];

/// The screens of the account: the last part of the address, the name, and the roles that may open it.
const ACCOUNT_SCREENS: &[(&str, Message, &[Scope])] = &[
    ("", tr("General"), Scope::ALL),
    ("members", tr("Members"), &[Scope::Full, Scope::Read]),
    ("events", tr("Audit log"), &[Scope::Full, Scope::Read]),
    ("deliveries", tr("Webhooks"), Scope::ALL),
    ("mails", tr("Email notifications"), &[Scope::Full, Scope::Read]),
    ("suppressed", tr("Suppression list"), &[Scope::Full, Scope::Read]),
    ("leave", tr("Export & delete"), &[Scope::Full]),
    ("preferences", tr("Language and time zone"), Scope::ALL),
];
/// The screens of the account that a member who is restricted to some sites can open.
const SCREENS_OF_SITES: &[&str] = &["", "events", "deliveries", "preferences"];

pub struct Screen<'a> {
    pub template: &'static str,
    pub title: Message,
    pub location: NavLocation<'a>,
    /// The API calls that do the same as the screen: method and path.
    pub calls: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub enum NavLocation<'a> {
    Sites,
    /// The search, which belongs to no area of the navigation.
    Search,
    Account,
    AccountPart(&'static str),
    Site {
        pixel_id: &'a str,
        host: &'a str,
        screen: &'static str,
    },
}

impl<'a> NavLocation<'a> {
    pub fn of(pixel: &'a PixelView, screen: &'static str) -> Self {
        Self::Site { pixel_id: pixel.pixel_id.as_str(), host: pixel.domain.as_str(), screen }
    }
}

/// Additional content of the frame on the screens of a site.
#[derive(Default)]
pub struct OfSite {
    /// The number of open erasure requests; `None` without any.
    pub open_requests: Option<String>,
    pub others: Vec<OtherSite>,
}

#[derive(Serialize)]
pub struct Frame<'a, T> {
    signed_in: &'a str,
    account_name: &'a str,
    form_token: &'a str,
    own_role: Scope,
    /// Whether the member may use some sites only.
    is_restricted: bool,
    identification_paused: Option<&'a Paused>,
    /// The area of the navigation: `sites`, `site` or `account`, or empty for the search.
    area: &'static str,
    site: Option<SiteFrame<'a>>,
    screens: Vec<Link<'a>>,
    calls: &'static [&'static str],
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct SiteFrame<'a> {
    pixel_id: &'a str,
    host: &'a str,
    /// Links to the same screen of other sites.
    others: Vec<SiteLink<'a>>,
}

#[derive(Serialize)]
struct SiteLink<'a> {
    href: String,
    host: &'a str,
}

#[derive(Serialize)]
struct Link<'a> {
    href: String,
    name: Message,
    is_here: bool,
    open: Option<&'a str>,
}

impl<'a, T> Frame<'a, T> {
    pub fn of(
        member: &'a Member,
        form_token: &'a str,
        of_site: &'a OfSite,
        paused: Option<&'a Paused>,
        screen: &Screen<'a>,
        content: T,
    ) -> Self {
        let (area, site, screens) = match screen.location {
            NavLocation::Sites => ("sites", None, Vec::new()),
            NavLocation::Search => ("", None, Vec::new()),
            NavLocation::Account => ("account", None, account_links(member, "")),
            NavLocation::AccountPart(part) => ("account", None, account_links(member, part)),
            NavLocation::Site { pixel_id, host, screen } => {
                let others = other_links(&of_site.others, screen);
                let open = of_site.open_requests.as_deref();
                let site = SiteFrame { pixel_id, host, others };
                ("site", Some(site), links(pixel_id, screen, open))
            }
        };
        Self {
            signed_in: &member.address,
            account_name: &member.account.display_name,
            form_token,
            own_role: member.role,
            is_restricted: !member.sites.are_all(),
            identification_paused: paused,
            area,
            site,
            screens,
            calls: screen.calls,
            content,
        }
    }
}

fn account_links<'a>(member: &Member, here: &str) -> Vec<Link<'a>> {
    let open = ACCOUNT_SCREENS.iter().filter(|(slug, _, roles)| {
        let concerns_sites = member.sites.are_all() || SCREENS_OF_SITES.contains(slug);
        concerns_sites && roles.contains(&member.role)
    });
    let link = |(slug, name, _): &(&'static str, Message, _)| Link {
        href: format!("/console/account/{slug}").trim_end_matches('/').to_owned(),
        name: name.clone(),
        is_here: *slug == here,
        open: None,
    };
    open.map(link).collect()
}

fn other_links<'a>(others: &'a [OtherSite], screen: &str) -> Vec<SiteLink<'a>> {
    let link = |site: &'a OtherSite| SiteLink {
        href: format!("/console/sites/{}/{screen}", site.pixel_id),
        host: site.domain.as_str(),
    };
    others.iter().map(link).collect()
}

fn links<'a>(pixel_id: &str, here: &str, requests: Option<&'a str>) -> Vec<Link<'a>> {
    let link = |(slug, name): &(&'static str, Message)| Link {
        href: format!("/console/sites/{pixel_id}/{slug}"),
        name: name.clone(),
        is_here: *slug == here,
        open: requests.filter(|_| *slug == "requests"),
    };
    SITE_SCREENS.iter().map(link).collect()
}
