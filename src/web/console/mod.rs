//! The console: the service for people, as pages and plain forms.
//!
//! A screen parses the request, calls capabilities like other transports, and shows the output; it contains no
//! business rules. [`kit::member::Member`], the guard of every screen, redirects to the sign-in and back; its
//! `ask` calls a capability with the session as the credential. Every `POST` takes a [`kit::form::Form`], which is
//! refused unless it comes from a page of this service and this session.
//!
//! # Adding a screen
//!
//! 1. Add a file in the folder of its subject with routes below `/console`. Each takes a `Member` first and returns a
//!    `Result<Reply, Refusal>`: `member.screen(…)` is a page, `Reply::to(…)` a redirect after a form, and `?` a
//!    page with the refusal. A refusal that concerns a field is shown beside it.
//! 2. Add a template in `templates/console/` that extends `console/layout.html`, with the block `screen`. Its texts are
//!    translated; texts from Rust are a [`Message`](crate::infra::templates::Message). Every form has
//!    `{% include "console/token.html" %}`. The Content-Security-Policy permits styles and scripts in `assets/` only.
//! 3. For a screen of one site, add an entry in [`kit::screen::SITE_SCREENS`], and use `NavLocation::Site`. For the
//!    account, use `ACCOUNT_SCREENS` and `NavLocation::AccountPart`. A form with a code is a [`kit::proof::Step`].
//! 4. Add its routes in [`routes`] below. Screens are not in the API's description, but name the equivalent calls.
//! 5. Add tests in `tests/console` (a second account gets 404) and in `tests/browser/specs/console*.spec.ts`.

pub mod account;
pub mod agency;
pub mod authorize;
pub mod kit;
pub mod search;
pub mod sign_in;
pub mod sites;
pub mod visitors;
pub mod webhooks;

use rocket::{Catcher, Route, catchers};

pub fn routes() -> Vec<Route> {
    [
        sign_in::routes(),
        sign_in::sign_up::routes(),
        sign_in::fresh::routes(),
        sign_in::passkey::routes(),
        search::routes(),
        sites::routes(),
        sites::new_site::routes(),
        sites::claim::routes(),
        sites::overview::routes(),
        sites::sharing::routes(),
        sites::time_zone::routes(),
        visitors::choices::routes(),
        visitors::choice::routes(),
        visitors::evidence::routes(),
        sites::install::routes(),
        sites::moving::routes(),
        sites::test_tag::routes(),
        sites::popup::routes(),
        sites::versions::routes(),
        sites::popup::sample::routes(),
        sites::screenshots::routes(),
        sites::watch::routes(),
        visitors::people::routes(),
        visitors::selected::routes(),
        visitors::contacts::routes(),
        visitors::requests::routes(),
        account::routes(),
        account::apps::routes(),
        authorize::routes(),
        account::account_mails::routes(),
        account::profile::routes(),
        account::passkeys::routes(),
        account::preferences::routes(),
        account::members::routes(),
        account::events::routes(),
        account::events::table::routes(),
        account::suppressed::routes(),
        account::imports::routes(),
        account::upload::routes(),
        account::leave::routes(),
        sign_in::which_account::routes(),
        agency::all_sites::routes(),
        agency::clients::routes(),
        agency::confirm::routes(),
        agency::another_account::routes(),
        account::billing::routes(),
        webhooks::deliveries::routes(),
        webhooks::webhook::routes(),
    ]
    .concat()
}

pub fn catchers() -> Vec<Catcher> {
    catchers![sign_in::sign_in_first]
}
