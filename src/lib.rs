//! Assent: a consent and site-pixel service.
//!
//! The modules in the order in which they may use each other, from the ground up; a room uses
//! only what stands above it in this list (`tests/architecture.rs` holds that).

// Leaves: know nothing of the rest.
pub mod clock;
pub mod config;
pub mod error;
pub mod ids;
pub mod locales;
pub(crate) mod text_enum;

// What the service stands on.
pub mod platform;

// What every route shares.
pub mod http;

// What the service does.
pub mod accounts;
pub mod pixels;

pub mod consent;
pub mod contacts;

pub mod billing;

pub mod retention;
pub mod scripts;

// How the service is explained, and the rooms where it meets people and agents.
pub mod guide;

pub mod agents;
pub mod pages;

use rocket::fairing::AdHoc;
use rocket::figment::Figment;
use rocket::shield::Shield;
use rocket::{Build, Rocket, Route};
use rocket_dyn_templates::Template;
use utoipa::OpenApi;

use accounts::key_attempts::KeyMemory;
use agents::{Services, ToolServer};
use billing::Stripe;
use consent::directory::Directory;
use consent::recorder::Recorder;
use consent::signing::Signer;
use consent::standings::Standings;
use contacts::pause::Pauses;
use contacts::turns::Turns;
use http::cors::preflight_routes;
use http::headers::CommonHeaders;
use http::measure::Measure;
use http::rate_limit::RateLimits;
use http::request_id::in_spans;
use pages::demo::upkeep::DemoUpkeep;
use pages::docs::ApiDescription;
use platform::Platform;
use platform::lasting::keep_running;
use retention::rounds::RetentionRounds;
use scripts::prebuilt::ScriptTable;

/// Puts the service together. Must be called inside a Tokio runtime.
pub fn build(figment: Figment, platform: Platform) -> Rocket<Build> {
    let config = platform.config.clone();
    let metrics = platform.metrics.clone();
    let limits = RateLimits::start(platform.clock.clone(), config.rate_limits);
    let key_memory = KeyMemory::new(platform.clock.clone());
    let directory =
        Directory::new(platform.pool.clone(), platform.changes.clone(), metrics.directory.clone());
    let signer = Signer::new(&config.receipt_secrets);
    let standings = Standings::start(&platform.pool);
    let turns = Turns::new();
    let stripe = Stripe::new(&config.stripe);
    let tools = ToolServer::new(Services {
        platform: platform.clone(),
        limits: limits.clone(),
        key_memory: key_memory.clone(),
        directory: directory.clone(),
        signer: signer.clone(),
        standings: standings.clone(),
        turns: turns.clone(),
        stripe: stripe.clone(),
    });
    let (changes, pool) = (platform.changes.clone(), platform.pool.clone());
    keep_running(move || changes.clone().listen(pool.clone()));
    let pauses =
        Pauses::new(platform.pool.clone(), platform.changes.clone(), metrics.pauses.clone());
    let when_listening = platform.clone();
    let has_tls = platform.base_url().starts_with("https://");
    rocket::custom(figment)
        .manage(limits)
        .manage(key_memory)
        .manage(directory)
        .manage(pauses)
        .manage(turns)
        .manage(signer)
        .manage(Recorder::start(&platform.pool, metrics.receipts.clone()))
        .manage(standings)
        .manage(ScriptTable::new(config.script_cache_mib, metrics.scripts.clone()))
        .manage(stripe)
        .manage(tools)
        .manage(ApiDescription::new(descriptions))
        .manage(platform)
        .mount("/", in_spans(busiest_first(routes()), &[CONSENT_TAG]))
        .register("/", http::problem::catchers())
        .attach(Template::fairing())
        // Rocket's own set of headers, which `CommonHeaders` takes the place of.
        .attach(Shield::new())
        .attach(CommonHeaders { has_tls })
        .attach(DemoUpkeep)
        .attach(RetentionRounds)
        .attach(Measure::new(metrics))
        .attach(AdHoc::on_liftoff("Base address", move |rocket| {
            Box::pin(async move { when_listening.listening_on(rocket.config().port) })
        }))
}

/// What every room says of its routes. A route that is mounted and not in here fails a test
/// (`tests/api/description.rs`).
fn descriptions() -> Vec<utoipa::openapi::OpenApi> {
    vec![
        accounts::routes::Description::openapi(),
        pixels::routes::Description::openapi(),
        consent::routes::Description::openapi(),
        consent::visitor_routes::Description::openapi(),
        consent::policy_routes::Description::openapi(),
        contacts::routes::Description::openapi(),
        billing::routes::Description::openapi(),
        scripts::routes::Description::openapi(),
        pages::assets::Description::openapi(),
        pages::routes::Description::openapi(),
        pages::demo::routes::Description::openapi(),
        pages::sample::Description::openapi(),
        pages::docs::routes::Description::openapi(),
        pages::guide::Description::openapi(),
        pages::well_known::Description::openapi(),
        agents::routes::Description::openapi(),
    ]
}

/// The route that every visitor of every site calls.
const CONSENT_TAG: &str = "/px/<file>";

/// Rocket tries the routes of a method one after the other, by rank: first come those that nearly
/// all requests are for. Their paths are no other route's.
fn busiest_first(mut routes: Vec<Route>) -> Vec<Route> {
    const BUSIEST: [&str; 3] = [CONSENT_TAG, "/v1/consent/record", "/v1/consent/check"];
    /// Below all that Rocket gives by itself.
    const FIRST: isize = -20;
    for route in &mut routes {
        if BUSIEST.contains(&route.uri.path()) {
            route.rank = FIRST;
        }
    }
    routes
}

/// All routes of the service.
pub fn routes() -> Vec<Route> {
    [
        accounts::routes::routes(),
        pixels::routes::routes(),
        consent::routes::routes(),
        consent::visitor_routes::routes(),
        consent::policy_routes::routes(),
        contacts::routes::routes(),
        billing::routes::routes(),
        scripts::routes::routes(),
        pages::assets::routes(),
        pages::routes::routes(),
        pages::demo::routes::routes(),
        pages::sample::routes(),
        pages::docs::routes::routes(),
        pages::guide::routes(),
        pages::well_known::routes(),
        agents::routes::routes(),
        preflight_routes(&[
            ("/v1/consent/record", "POST"),
            ("/api/v1/pixel/fire", "POST"),
            ("/v1/consent/shown", "POST"),
            ("/v1/consent/check", "GET"),
            ("/v1/consent/receipt", "GET"),
            ("/api/v1/consent/receipt", "GET"),
            ("/v1/consent/verify", "POST"),
            ("/v1/policy/<pixel>", "GET"),
            ("/api/v1/policy/<pixel>", "GET"),
            ("/external_api/install-pixel/tag-pixel", "GET"),
            ("/px/<file>", "GET"),
        ]),
    ]
    .concat()
}
