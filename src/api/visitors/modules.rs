use rocket::{State, get};

use crate::app::App;
use crate::delivery::bundles::{Configured, Script};
use crate::delivery::configs::{BaseConfig, PlaceholdersConfig, RecheckConfig};
use crate::delivery::script_cache::ScriptKey;
use crate::error::Result;
use crate::http::client::AcceptLanguage;
use crate::http::described::described_routes;
use crate::http::prebuilt::PrebuiltScript;
use crate::http::query::Query;
use crate::http::refusals::refusals;
use crate::types::locales::{self, Locale};

described_routes![extras, placeholders, recheck, signals, compat, hints, controls, share];

refusals!(ModuleRefusals: [] Internal(String::new()));

/// What few pages need: a module that the consent tag imports when a page needs it
#[utoipa::path(
    tag = "Scripts",
    operation_id = "extras_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/extras.js")]
async fn extras(app: &State<App>) -> Result<PrebuiltScript> {
    same_for_all(app, Script::Extras, || Ok(Script::Extras.unconfigured())).await
}

/// The placeholders of gated frames that wait
#[utoipa::path(
    tag = "Scripts",
    operation_id = "placeholders_script",
    params(("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`.")),
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/placeholders.js")]
async fn placeholders(
    app: &State<App>,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let build = |locale| Script::Placeholders.with_config(&PlaceholdersConfig::new(locale));
    localized(app, Script::Placeholders, &query, &accepted, build).await
}

/// Asking the service again about a stored choice or an outdated policy
#[utoipa::path(
    tag = "Scripts",
    operation_id = "recheck_script",
    params(("lang" = Option<String>, Query, description = "The visitor's language, before `Accept-Language`.")),
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/recheck.js")]
async fn recheck(
    app: &State<App>,
    query: Query,
    accepted: AcceptLanguage<'_>,
) -> Result<PrebuiltScript> {
    let build = |locale| Script::Recheck.with_config(&RecheckConfig::new(locale));
    localized(app, Script::Recheck, &query, &accepted, build).await
}

/// Consent signals for the vendors that a page names
#[utoipa::path(
    tag = "Scripts",
    operation_id = "signals_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/signals.js")]
async fn signals(app: &State<App>) -> Result<PrebuiltScript> {
    with_base(app, Script::Signals).await
}

/// The markup and stored refusals of other consent tools
#[utoipa::path(
    tag = "Scripts",
    operation_id = "compat_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/compat.js")]
async fn compat(app: &State<App>) -> Result<PrebuiltScript> {
    with_base(app, Script::Compat).await
}

/// Messages for developers about what does not happen
#[utoipa::path(
    tag = "Scripts",
    operation_id = "hints_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/hints.js")]
async fn hints(app: &State<App>) -> Result<PrebuiltScript> {
    with_base(app, Script::Hints).await
}

/// Keeping the small button and the popup from covering controls of the page
#[utoipa::path(
    tag = "Scripts",
    operation_id = "controls_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/controls.js")]
async fn controls(app: &State<App>) -> Result<PrebuiltScript> {
    same_for_all(app, Script::Controls, || Ok(Script::Controls.unconfigured())).await
}

/// One choice for all subdomains of a site
#[utoipa::path(
    tag = "Scripts",
    operation_id = "share_script",
    responses((status = 200, description = "The module", content_type = "application/javascript", body = String), ModuleRefusals),
)]
#[get("/share.js")]
async fn share(app: &State<App>) -> Result<PrebuiltScript> {
    same_for_all(app, Script::Share, || Ok(Script::Share.unconfigured())).await
}

async fn with_base(app: &App, script: Script) -> Result<PrebuiltScript> {
    let config = BaseConfig { base: app.infra.base_url() };
    same_for_all(app, script, || script.with_config(&config)).await
}

async fn same_for_all(
    app: &App,
    script: Script,
    build: impl FnOnce() -> Result<Configured> + Send,
) -> Result<PrebuiltScript> {
    let key = ScriptKey { script, lang: "", site: None };
    app.scripts.get(key, build).await.map(PrebuiltScript)
}

async fn localized(
    app: &App,
    script: Script,
    query: &Query,
    accepted: &AcceptLanguage<'_>,
    build: impl FnOnce(&'static Locale) -> Result<Configured> + Send,
) -> Result<PrebuiltScript> {
    let locale = locales::choose(query.present("lang"), accepted.0.as_deref());
    let key = ScriptKey { script, lang: &locale.lang, site: None };
    app.scripts.get(key, || build(locale)).await.map(PrebuiltScript)
}

#[cfg(test)]
mod tests {
    use super::routes;
    use crate::browser::tag_service::TAG_MODULES;

    #[test]
    fn all_modules_of_the_tag_are_served_and_no_watch_calls_them_leaks() {
        let routes = routes();
        let mut served = routes.iter().map(|route| route.uri.path()).collect::<Vec<_>>();
        // `scripts.rs` has its route.
        served.push("/preferences.js");
        served.sort_unstable();
        let mut modules = TAG_MODULES.to_vec();
        modules.sort_unstable();
        assert_eq!(served, modules);
    }
}
