//! The service with the route that stores contacts at two more addresses: below `/with` as it is, below
//! `/without` without `Idempotency-Key`. Both are compared for requests without that header.

use assent::clock::Clock;
use assent::config::Config;
use assent::http::idempotency::repeatable;
use assent::http::in_spans::in_spans;
use assent::infra::postgres::Database;
use assent::infra::{Infra, telemetry};
use rocket::Route;
use rocket::figment::Figment;
use rocket::figment::providers::Env;
use rocket::http::Method;
use tikv_jemallocator::Jemalloc;

/// The allocator of the program, so that only the route differs.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn storing_contacts() -> Vec<Route> {
    let is_it = |route: &Route| {
        route.method == Method::Post && route.uri.path() == "/v1/pixels/<pixel_id>/contacts"
    };
    assent::server::routes().into_iter().filter(is_it).collect()
}

#[rocket::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_env()?;
    telemetry::install(config.log_format);
    let url = config.database_url.clone().ok_or("DATABASE_URL is needed")?;
    let database = Database::connect(url.expose())?;
    let infra = Infra::new(config, Clock::System, database, None)?;
    let figment = Figment::from(rocket::Config {
        log_level: rocket::config::LogLevel::Off,
        ..rocket::Config::release_default()
    })
    .merge(Env::prefixed("ROCKET_").global());
    let _ = assent::server::build(figment, infra)
        .mount("/with", in_spans(repeatable(storing_contacts()), &[]))
        .mount("/without", in_spans(storing_contacts(), &[]))
        .launch()
        .await?;
    Ok(())
}
