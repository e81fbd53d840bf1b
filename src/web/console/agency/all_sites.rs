use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde::Serialize;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::site_rows::{AllSites, PAGE, read};
use crate::accounts::account::TRIAL;
use crate::accounts::clients::inviting::{INVITATION_LIFE, MAX_PENDING};
use crate::accounts::clients::{ClientInvitation, own_invitations};
use crate::accounts::scope::Scope;
use crate::accounts::sign_in::proof::Proof;
use crate::error::Result;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::screen::{NavLocation, Screen};
use crate::web::console::kit::words::{counted, price, role_name};

pub fn routes() -> Vec<Route> {
    routes![all_sites]
}

pub const ADDRESS: &str = "/console/all-sites";

const ALL_SITES: Screen<'static> = Screen {
    template: "console/all_sites.html",
    title: tr("All sites"),
    location: NavLocation::Sites,
    calls: &[],
};

/// The longest text to search for, in characters.
const MAX_SEARCH: usize = 100;

fn notice_of(done: &str) -> Option<Message> {
    match done {
        "invited" => {
            Some(tr("Invitation sent. The account exists once your client has confirmed it."))
        }
        "resent" => Some(tr("Invitation sent again. Links of earlier mails no longer work.")),
        "cancelled" => Some(tr("The invitation is cancelled.")),
        _ => None,
    }
}

/// The form for a client account, as it was typed.
#[derive(Serialize)]
pub struct ClientForm {
    pub email: String,
    pub display_name: String,
    pub role: Scope,
    /// The field that `error` concerns: `email` or `display_name`.
    pub field: &'static str,
    pub error: Option<Message>,
}

impl Default for ClientForm {
    fn default() -> Self {
        let (email, display_name) = (String::new(), String::new());
        Self { email, display_name, role: Scope::Operate, field: "", error: None }
    }
}

#[get("/console/all-sites")]
async fn all_sites(member: Member<'_>, query: Query) -> Result<Reply, Refusal> {
    let search = query.present("search").unwrap_or_default();
    let search = search.chars().take(MAX_SEARCH).collect::<String>();
    let page = query.get("page").and_then(|page| page.parse::<usize>().ok()).unwrap_or(1).max(1);
    let notice = query.get("done").and_then(notice_of);
    let listed = Listed { search, page, notice };
    Ok(all_sites_screen(&member, 200, &listed, &ClientForm::default()).await?)
}

/// The part of the list that is shown.
pub struct Listed {
    search: String,
    page: usize,
    notice: Option<Message>,
}

impl Default for Listed {
    fn default() -> Self {
        Self { search: String::new(), page: 1, notice: None }
    }
}

impl Listed {
    fn address_of(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.search.is_empty() {
            query.append_pair("search", &self.search);
        }
        format!("{ADDRESS}?{}", query.append_pair("page", &page.to_string()).finish())
    }
}

pub async fn all_sites_screen(
    member: &Member<'_>,
    status: u16,
    listed: &Listed,
    client: &ClientForm,
) -> Result<Reply> {
    let first = (listed.page - 1).saturating_mul(PAGE);
    let AllSites { accounts, sites, found, rows } = read(member, &listed.search, first).await?;
    let infra = &member.app.infra;
    let invitations = own_invitations::list(infra, &member.member).await?;
    let roles = [Scope::Read, Scope::Operate, Scope::Full];
    let role = |scope: Scope| json!({"scope": scope, "name": role_name(scope)});
    let content = context! {
        rows,
        sums: sums(sites, accounts),
        found: found_in_words(found),
        search: &listed.search,
        previous: (listed.page > 1).then(|| listed.address_of(listed.page - 1)),
        next: (found > first.saturating_add(PAGE)).then(|| listed.address_of(listed.page + 1)),
        notice: &listed.notice,
        invitations: invitations.iter().map(invitation_row).collect::<Vec<_>>(),
        by_mail: Proof::of(&infra.outbox) == Proof::Mail,
        is_fresh: member.is_fresh(),
        roles: roles.map(role),
        client,
        error: &client.error,
        price: price(),
        trial_days: TRIAL.num_days(),
        valid_days: INVITATION_LIFE.num_days(),
        most: MAX_PENDING,
    };
    Ok(member.screen_with_status(status, ALL_SITES, content))
}

/// For example: 14 sites in 5 accounts.
fn sums(sites: usize, accounts: usize) -> Message {
    let sentences = [
        tr("{{ sites }} in no accounts."),
        tr("{{ sites }} in one account."),
        tr("{{ sites }} in {{ number }} accounts."),
    ];
    let names = [tr("No sites"), tr("One site"), tr("{{ number }} sites")];
    counted(number_of(accounts), sentences).with("sites", counted(number_of(sites), names))
}

fn found_in_words(found: usize) -> Message {
    let texts = [tr("No sites found."), tr("One site found."), tr("{{ number }} sites found.")];
    counted(number_of(found), texts)
}

fn number_of(many: usize) -> i64 {
    i64::try_from(many).unwrap_or(i64::MAX)
}

fn invitation_row(invitation: &ClientInvitation) -> Value {
    json!({
        "id": invitation.invitation_id,
        "client": invitation.client,
        "name": invitation.display_name,
        "role": role_name(invitation.role),
        "until": Message::DayOf(invitation.expires_at),
        "declined": invitation.declined_at.map(Message::DayOf),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn sums_are_sentences() {
        assert_eq!(in_english(&sums(14, 5)), "14 sites in 5 accounts.");
        assert_eq!(in_english(&sums(0, 1)), "No sites in one account.");
    }

    #[test]
    fn a_page_keeps_the_search() {
        let listed = Listed { search: "a&b".to_owned(), ..Listed::default() };
        assert_eq!(listed.address_of(2), "/console/all-sites?search=a%26b&page=2");
        assert_eq!(Listed::default().address_of(3), "/console/all-sites?page=3");
    }
}
