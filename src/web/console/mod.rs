//! The console: the service for people, as pages and plain forms. The third door.
//!
//! A screen reads what a person sent, asks the capabilities for it as the other doors do, and shows
//! the answer; it decides nothing itself. [`kit::member::Member`] is the guard of every screen: whoever is
//! not signed in is led to the sign-in and back. Its `ask` asks for a capability, with the session as
//! the credential. Every `POST` takes a [`kit::form::Form`], which is refused unless it comes from a page of
//! this service and of this session.
//!
//! # How a screen is added
//!
//! 1. A file in the folder of its subject with its routes: `GET` and `POST` below `/console`, each with a
//!    `Member` first. Answers are `Result<Reply, Refusal>`: `member.screen(…)` gives the page, `Reply::to(…)` leads on
//!    after a form has done its work, and `?` on a capability's refusal gives a page that says why. A
//!    refusal that is about a field is shown beside it: match it, and give the screen again.
//! 2. A template in `templates/console/` that extends `console/layout.html`, with its block `screen`.
//!    Every form in it has `{% include "console/token.html" %}`. Its looks come from `assets/site.css` and `assets/console.css`; there are no styles and no scripts in the page itself,
//!    the policy of every page forbids them.
//! 3. For a screen of one site: its place in [`kit::screen::SITE_SCREENS`], and `Place::Site` in the answer,
//!    which puts the host above it and its name into the list of screens.
//!    A screen of the account has its place in `ACCOUNT_SCREENS` there, and `Place::AccountPart`.
//!    A step that takes a code of its own is a [`kit::proof::Step`].
//! 4. Its routes in [`routes`] below. Screens are no part of the API's description: they name, below
//!    the content, the calls that do the same (`calls` of [`kit::screen::Screen`]).
//! 5. Tests: what it shows and what it refuses in `tests/api/console_*.rs` (a second account gets 404),
//!    and as a person uses it in `tests/browser/specs/console*.spec.ts`.

pub mod account;
pub mod kit;
pub mod sign_in;
pub mod sites;
pub mod visitors;
pub mod webhooks;

use rocket::{Catcher, Route, catchers};

/// All screens.
pub fn routes() -> Vec<Route> {
    [
        sign_in::routes(),
        sign_in::sign_up::routes(),
        sign_in::fresh::routes(),
        sites::routes(),
        sites::new_site::routes(),
        sites::claim::routes(),
        sites::overview::routes(),
        visitors::choices::routes(),
        visitors::choice::routes(),
        sites::install::routes(),
        sites::popup::routes(),
        sites::popup_sample::routes(),
        visitors::contacts::routes(),
        visitors::requests::routes(),
        account::routes(),
        account::account_mails::routes(),
        account::profile::routes(),
        account::members::routes(),
        account::events::routes(),
        account::suppressed::routes(),
        account::imports::routes(),
        account::upload::routes(),
        account::leave::routes(),
        sign_in::which_account::routes(),
        account::billing::routes(),
        webhooks::deliveries::routes(),
        webhooks::webhook::routes(),
    ]
    .concat()
}

/// What leads whoever is not signed in to the sign-in.
pub fn catchers() -> Vec<Catcher> {
    catchers![sign_in::sign_in_first]
}
