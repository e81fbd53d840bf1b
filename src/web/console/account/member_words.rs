use crate::accounts::members::member_view::MemberView;
use crate::accounts::scope::Scope;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::site_choice::SiteChoice;
use crate::web::console::kit::words::{self, counted, role_name};

pub const ROLES: Message = tr(
    "Read-only: sees everything, changes nothing. Editor: changes sites, popup and contacts, but deletes nothing and does not manage the account. Admin: everything.",
);

pub const SITES: Message =
    tr("A member for some sites does not see the others, and cannot open the account’s screens.");

pub fn notice_of(done: &str, has_mail: bool) -> Option<Message> {
    match done {
        "invited" if has_mail => Some(tr("Invitation sent.")),
        "invited" => Some(tr(
            "The member was added, but cannot sign in yet: sign-in needs a code by email, and this service has no mail server.",
        )),
        "changed" => Some(tr("Role and sites changed.")),
        "removed" => Some(tr("The member is removed, and signed out everywhere.")),
        "removed-with-keys" => Some(tr(
            "The member is removed and signed out everywhere, and the member’s keys are revoked.",
        )),
        _ => None,
    }
}

/// The number of sites selected in a form, as text; `None` for all sites.
fn number_of(sites: &SiteChoice) -> Option<Message> {
    let many = sites.pixels()?.len();
    Some(words::sites(i64::try_from(many).unwrap_or(i64::MAX)))
}

pub fn invitation(email: &str, role: Scope, sites: &SiteChoice) -> Message {
    let what = match number_of(sites) {
        None => tr("{{ email }} becomes a member of this account with the role {{ role }}."),
        Some(sites) => tr(
            "{{ email }} becomes a member of this account with the role {{ role }}, for {{ sites }}.",
        )
        .with("sites", sites),
    };
    what.with("email", email).with("role", role_name(role))
}

pub fn keys_counted(many: i64) -> Message {
    counted(many, [tr("no keys"), tr("one key"), tr("{{ number }} keys")])
}

pub fn role_change(found: &MemberView, role: Scope, sites: &SiteChoice) -> Message {
    let what = match number_of(sites) {
        None => tr("The role of {{ email }} becomes {{ role }}."),
        Some(sites) => {
            tr("The role of {{ email }} becomes {{ role }}, for {{ sites }}.").with("sites", sites)
        }
    };
    what.with("email", &found.email).with("role", role_name(role))
}
