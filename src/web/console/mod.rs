//! The console: the service for people, as pages and plain forms. The third door.
//!
//! A screen reads what a person sent, asks the capabilities for it as the other doors do, and shows
//! the answer; it decides nothing itself. [`member::Member`] is the guard of every screen: whoever is
//! not signed in is led to the sign-in and back. Its `ask` asks for a capability, with the session as
//! the credential. Every `POST` takes a [`form::Form`], which is refused unless it comes from a page of
//! this service and of this session.
//!
//! # How a screen is added
//!
//! 1. A file here with its routes: `GET` and `POST` below `/console`, each with a `Member` first.
//!    Answers are `Result<Reply, Refusal>`: `member.screen(…)` gives the page, `Reply::to(…)` leads on
//!    after a form has done its work, and `?` on a capability's refusal gives a page that says why. A
//!    refusal that is about a field is shown beside it: match it, and give the screen again.
//! 2. A template in `templates/console/` that extends `console/layout.html`, with its block `screen`.
//!    Every form in it has `{% include "console/token.html" %}`. Its looks come from `assets/site.css` and `assets/console.css`; there are no styles and no scripts in the page itself,
//!    the policy of every page forbids them.
//! 3. For a screen of one site: its place in [`screen::SITE_SCREENS`], and `Place::Site` in the answer,
//!    which puts the host above it and its name into the list of screens.
//!    A screen of the account has its place in `ACCOUNT_SCREENS` there, and `Place::AccountPart`.
//!    A step that takes a code of its own is a [`proof::Step`].
//! 4. Its routes in [`routes`] below. Screens are no part of the API's description: they name, below
//!    the content, the calls that do the same (`calls` of [`screen::Screen`]).
//! 5. Tests: what it shows and what it refuses in `tests/api/console_*.rs` (a second account gets 404),
//!    and as a person uses it in `tests/browser/specs/console*.spec.ts`.

pub mod account;
pub mod account_mails;
pub mod billing;
pub mod browser;
pub mod choice;
pub mod choice_words;
pub mod choices;
pub mod claim;
pub mod contacts;
pub mod cookies;
pub mod day_range;
pub mod deliveries;
pub mod events;
pub mod file_form;
pub mod form;
pub mod fresh;
pub mod imports;
pub mod install;
pub mod leave;
pub mod member;
pub mod members;
pub mod new_site;
pub mod overview;
pub mod popup;
pub mod popup_fields;
pub mod popup_sample;
pub mod profile;
pub mod proof;
pub mod refusal;
pub mod reply;
pub mod requests;
pub mod screen;
pub mod sign_in;
pub mod sign_up;
pub mod sites;
pub mod standing;
pub mod suppressed;
pub mod tag_state;
pub mod upload;
pub mod webhook;
pub mod which_account;
pub mod words;

use rocket::{Catcher, Route, catchers};

/// All screens.
pub fn routes() -> Vec<Route> {
    [
        sign_in::routes(),
        sign_up::routes(),
        fresh::routes(),
        sites::routes(),
        new_site::routes(),
        claim::routes(),
        overview::routes(),
        choices::routes(),
        choice::routes(),
        install::routes(),
        popup::routes(),
        popup_sample::routes(),
        contacts::routes(),
        requests::routes(),
        account::routes(),
        account_mails::routes(),
        profile::routes(),
        members::routes(),
        events::routes(),
        suppressed::routes(),
        imports::routes(),
        upload::routes(),
        leave::routes(),
        which_account::routes(),
        billing::routes(),
        deliveries::routes(),
        webhook::routes(),
    ]
    .concat()
}

/// What leads whoever is not signed in to the sign-in.
pub fn catchers() -> Vec<Catcher> {
    catchers![sign_in::sign_in_first]
}
