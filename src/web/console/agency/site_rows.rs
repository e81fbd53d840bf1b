//! The sites of all accounts of a person, read with a constant number of statements.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::accounts::account::Status;
use crate::accounts::members::member::Membership;
use crate::accounts::sessions;
use crate::erasure::list_open_counts_of;
use crate::error::Result;
use crate::infra::templates::Message;
use crate::pixels::install_check::InstallView;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::list_of_accounts;
use crate::receipts::daily_counts::recent;
use crate::receipts::days::DayRange;
use crate::silence::list_broken;
use crate::types::ids::AccountId;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::words::{percent, role_name};
use crate::web::console::sites::tag_state::{Visits, state_of};

pub const PAGE: usize = 50;

#[derive(Serialize)]
pub struct SiteRow {
    account_id: String,
    account: String,
    role: Message,
    host: String,
    /// The address of the site in the console, which works after the session has switched to its account.
    href: String,
    is_here: bool,
    state: Message,
    /// `good`, `bad` or `none`.
    tone: &'static str,
    asks: bool,
    /// In percent of the answers; `None` without any.
    accepted: Option<Message>,
    answered: i64,
    requests: i64,
    leaks: bool,
}

pub struct AllSites {
    pub accounts: usize,
    pub sites: usize,
    /// The number of sites that match the search.
    pub found: usize,
    pub rows: Vec<SiteRow>,
}

/// The person's memberships in active accounts.
async fn memberships_of(member: &Member<'_>) -> Result<HashMap<AccountId, Membership>> {
    let all =
        sessions::memberships(&member.app.infra.pool, &member.app.infra.outbox, &member.member)
            .await?;
    let active = all.into_iter().filter(|it| it.account.status == Status::Active);
    Ok(active.map(|it| (it.account.account_id.clone(), it)).collect())
}

/// One page of the sites whose account name or host contains a text, sorted by account and host.
pub async fn read(member: &Member<'_>, search: &str, first: usize) -> Result<AllSites> {
    let memberships = memberships_of(member).await?;
    let owners = memberships.keys().map(ToString::to_string).collect::<Vec<_>>();
    let mut sites = Vec::new();
    for pixel in list_of_accounts(&member.app.infra.pool, &owners).await? {
        let membership = memberships.get(&pixel.account_id);
        let visible = membership.filter(|it| it.sites.include(pixel.pixel_id.as_str()));
        sites.extend(visible.map(|membership| (membership, pixel)));
    }
    let total = sites.len();
    let search = search.to_lowercase();
    sites.retain(|(membership, pixel)| {
        let name = membership.account.display_name.to_lowercase();
        name.contains(&search) || pixel.domain.as_str().contains(&search)
    });
    sites.sort_by_cached_key(|(Membership { account, .. }, pixel)| {
        let name = account.display_name.to_lowercase();
        (name, account.account_id.clone(), pixel.domain.to_string())
    });
    let found = sites.len();
    let shown = sites.into_iter().skip(first).take(PAGE).collect::<Vec<_>>();
    let rows = rows(member, &shown).await?;
    Ok(AllSites { accounts: memberships.len(), sites: total, found, rows })
}

async fn rows(member: &Member<'_>, sites: &[(&Membership, Pixel)]) -> Result<Vec<SiteRow>> {
    let infra = &member.app.infra;
    let now = infra.clock.now();
    let pixels = sites.iter().map(|(_, pixel)| pixel.clone()).collect::<Vec<_>>();
    let ids = pixels.iter().map(|pixel| pixel.pixel_id.to_string()).collect::<Vec<_>>();
    let days = DayRange::parse(None, None, now.date_naive())?;
    let mut recent = recent::read(&infra.read_pool, &ids, days).await?;
    let mut connection = infra.pool.acquire().await?;
    let installs = InstallView::read_all(&mut connection, &pixels).await?;
    let broken = list_broken(&mut connection, &ids).await?.into_iter().collect::<HashSet<_>>();
    let open = list_open_counts_of(&mut connection, &ids, now).await?.into_iter();
    let open = open.map(|count| (count.pixel_id, count.open)).collect::<HashMap<_, _>>();
    let here = &member.member.account.account_id;
    let row = |((membership, pixel), install): (&(&Membership, Pixel), &InstallView)| {
        let counts = recent.remove(pixel.pixel_id.as_str()).unwrap_or_default();
        let visits = Visits::on(counts.answered_on, counts.shown_on);
        let (state, tone) = state_of(install, &visits, now);
        let answered = counts.accepted + counts.declined;
        SiteRow {
            account_id: pixel.account_id.to_string(),
            account: membership.account.display_name.clone(),
            role: role_name(membership.role),
            host: pixel.domain.to_string(),
            href: format!("/console/sites/{}/overview", pixel.pixel_id),
            is_here: pixel.account_id == *here,
            state,
            tone,
            asks: pixel.consent_enabled,
            accepted: percent(counts.accepted, answered).map(Message::WholePercent),
            answered,
            requests: open.get(&pixel.pixel_id).copied().unwrap_or(0),
            leaks: broken.contains(&pixel.pixel_id),
        }
    };
    Ok(sites.iter().zip(&installs).map(row).collect())
}
