//! The HTTP server: the routes of all transports, with their fairings and catchers.

use std::path::PathBuf;
use std::sync::Arc;

use rocket::fairing::AdHoc;
use rocket::figment::Figment;
use rocket::shield::Shield;
use rocket::{Build, Rocket, Route};
use rocket_dyn_templates::Template;
use utoipa::OpenApi;

use crate::app::App;
use crate::http::headers::CommonHeaders;
use crate::http::headers::cors::preflight_routes;
use crate::http::idempotency::repeatable;
use crate::http::in_spans::in_spans;
use crate::http::measure::Measure;
use crate::infra::shutdown::Shutdown;
use crate::infra::{Infra, templates};
use crate::tool_calls::tool_server::ToolServer;
use crate::web::docs::ApiDescription;
use crate::web::help::as_markdown::MarkdownAddresses;
use crate::web::signed_in::SignedInHeader;
use crate::{api, http, jobs, mcp, web};

/// Builds the server. Must be called inside a Tokio runtime.
pub fn build(figment: Figment, infra: Infra) -> Rocket<Build> {
    let app = App::start(infra);
    let (infra, parts, at_start) = (app.infra.clone(), app.clone(), before_serving(app.clone()));
    let has_tls = infra.base_url().starts_with("https://");
    let description = Arc::new(ApiDescription::new(descriptions));
    let (described, of_server) = (Arc::clone(&description), infra.clone());
    let part = move |tag: &str| described.get(of_server.base_url()).part(tag);
    rocket::custom(figment.merge(("template_dir", no_templates())))
        .manage(ToolServer::new(app.clone(), Arc::new(part)))
        .manage(description)
        .manage(app)
        .mount("/", in_spans(repeatable(busiest_first(routes())), &[CONSENT_TAG]))
        // The pages below are not part of the API's description: programs use the API instead.
        .mount("/", in_spans(web::console::routes(), &[]))
        .mount("/", in_spans(web::help::routes::routes(), &[]))
        .mount("/", in_spans(web::language::routes(), &[]))
        .mount("/", in_spans(web::pictures::routes(), &[]))
        .mount("/", in_spans(web::addresses::routes(&web::console::routes()), &[]))
        .register("/console", web::console::catchers())
        .register("/", http::problem::catchers())
        .attach(Template::custom(|engines| {
            templates::add_pages_to(&mut engines.tera).expect("the embedded templates are valid");
        }))
        // Disables Rocket's default headers, because `CommonHeaders` sets its own.
        .attach(Shield::new())
        .attach(SignedInHeader)
        .attach(CommonHeaders::new(has_tls))
        .attach(MarkdownAddresses)
        .attach(Measure::new(infra.metrics.clone()))
        .attach(at_start)
        .attach(at_the_end(infra.shutdown.clone()))
        .attach(AdHoc::on_liftoff("Jobs and base address", move |rocket| {
            Box::pin(async move {
                infra.listening_on(rocket.config().address, rocket.config().port);
                parts.log.announce();
                jobs::start(&parts.accounts, &parts.receipts, &parts.log, rocket.shutdown());
            })
        }))
}

/// A template folder that cannot exist, because it is below a file, so that only the embedded templates
/// are used. If no file is known (in a container without `/proc` and `/dev`), the folder of
/// `Rocket.toml`: anybody who can write there controls the program anyway.
fn no_templates() -> PathBuf {
    let files = [std::env::current_exe().ok(), Some(PathBuf::from("/dev/null"))];
    files.into_iter().flatten().find(|file| file.exists()).unwrap_or_else(|| PathBuf::from("."))
}

/// Failures do not prevent the start, because serving the tags of customers' sites matters more.
fn before_serving(app: App) -> AdHoc {
    AdHoc::on_ignite("Demo account and build", move |rocket| {
        Box::pin(async move {
            if let Err(error) = app.receipts.builds.announce().await {
                tracing::error!(
                    ?error,
                    "the build of the tag could not be announced to other nodes"
                );
            }
            if let Err(error) = jobs::demo_upkeep::prepare(&app.infra).await {
                tracing::error!(?error, "the demo account could not be prepared");
            }
            rocket
        })
    })
}

/// Begins the shutdown before Rocket waits for the last requests.
fn at_the_end(shutdown: Shutdown) -> AdHoc {
    AdHoc::on_shutdown("Ending", move |_| Box::pin(async move { shutdown.begin() }))
}

/// A test fails for a mounted route that is missing here (`tests/interface/documentation/openapi.rs`).
fn descriptions() -> Vec<utoipa::openapi::OpenApi> {
    vec![
        api::accounts::Description::openapi(),
        api::accounts::account::Description::openapi(),
        api::accounts::account_mails::Description::openapi(),
        api::accounts::members::Description::openapi(),
        api::accounts::account_deletion::Description::openapi(),
        api::accounts::links::Description::openapi(),
        api::accounts::unsubscribe::Description::openapi(),
        api::accounts::address_change::Description::openapi(),
        api::accounts::keys::Description::openapi(),
        api::accounts::grants::Description::openapi(),
        api::pixels::Description::openapi(),
        api::pixels::claims::Description::openapi(),
        api::pixels::moves::Description::openapi(),
        api::health::Description::openapi(),
        api::consent::Description::openapi(),
        api::visitors::Description::openapi(),
        api::proofs::Description::openapi(),
        web::notice::Description::openapi(),
        api::contacts::Description::openapi(),
        api::suppressions::Description::openapi(),
        api::erasure::Description::openapi(),
        api::silence::Description::openapi(),
        api::sharing::Description::openapi(),
        api::screenshots::Description::openapi(),
        api::webhooks::Description::openapi(),
        api::billing::Description::openapi(),
        api::visitors::scripts::Description::openapi(),
        api::visitors::modules::Description::openapi(),
        api::log::Description::openapi(),
        web::assets::Description::openapi(),
        web::routes::Description::openapi(),
        web::demo::routes::Description::openapi(),
        web::sample::Description::openapi(),
        web::docs::routes::Description::openapi(),
        web::docs::topics::Description::openapi(),
        web::guide::Description::openapi(),
        web::papers::Description::openapi(),
        web::verify::Description::openapi(),
        web::watch::Description::openapi(),
        web::shared::Description::openapi(),
        web::well_known::Description::openapi(),
        web::your_data::Description::openapi(),
        mcp::routes::Description::openapi(),
        mcp::registry::Description::openapi(),
        api::oauth::Description::openapi(),
    ]
}

const CONSENT_TAG: &str = "/px/<file>";

/// Moves the most frequent routes, whose paths are unique, to the front: Rocket tries routes by rank.
fn busiest_first(mut routes: Vec<Route>) -> Vec<Route> {
    const BUSIEST: [&str; 3] = [CONSENT_TAG, "/v1/consent/record", "/v1/consent/check"];
    /// Lower than all ranks that Rocket assigns.
    const FIRST: isize = -20;
    for route in &mut routes {
        if BUSIEST.contains(&route.uri.path()) {
            route.rank = FIRST;
        }
    }
    routes
}

pub fn routes() -> Vec<Route> {
    [
        api::accounts::routes(),
        api::accounts::account::routes(),
        api::accounts::account_mails::routes(),
        api::accounts::members::routes(),
        api::accounts::account_deletion::routes(),
        api::accounts::links::routes(),
        api::accounts::unsubscribe::routes(),
        api::accounts::address_change::routes(),
        api::accounts::keys::routes(),
        api::accounts::grants::routes(),
        api::pixels::routes(),
        api::pixels::claims::routes(),
        api::pixels::moves::routes(),
        api::health::routes(),
        api::consent::routes(),
        api::visitors::routes(),
        api::proofs::routes(),
        web::notice::routes(),
        api::contacts::routes(),
        api::suppressions::routes(),
        api::erasure::routes(),
        api::silence::routes(),
        api::sharing::routes(),
        api::screenshots::routes(),
        api::webhooks::routes(),
        api::billing::routes(),
        api::visitors::scripts::routes(),
        api::visitors::modules::routes(),
        api::log::routes(),
        web::assets::routes(),
        web::routes::routes(),
        web::demo::routes::routes(),
        web::sample::routes(),
        web::docs::routes::routes(),
        web::docs::topics::routes(),
        web::guide::routes(),
        web::papers::routes(),
        web::verify::routes(),
        web::watch::routes(),
        web::shared::routes(),
        web::well_known::routes(),
        web::your_data::routes(),
        mcp::routes::routes(),
        mcp::registry::routes(),
        api::oauth::routes(),
        preflight_routes(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use rocket::http::Method;

    use super::routes;
    use crate::http::headers::cors::visitor_routes;

    #[test]
    fn whatever_pages_of_other_origins_may_call_is_mounted() {
        let mounted = routes();
        for (path, method) in visitor_routes() {
            let method = method.unwrap_or("GET").parse::<Method>().unwrap();
            let is_it = |route: &&rocket::Route| route.method == method && route.uri.path() == path;
            assert!(mounted.iter().any(|route| is_it(&route)), "{method} {path}");
        }
    }
}
