//! The service on Shuttle, with settings from its secrets and its database.
//!
//! The platform has closed. This entry shows the requirements of a host of this kind: a source of named
//! settings, the address of a PostgreSQL, and a figment. If no folder survives a deployment, `LOG_STATE` cannot be used, and `LOG_WITNESSES` is needed to detect a restored database.

use assent::clock::Clock;
use assent::config::Config;
use assent::infra::postgres::{self, Database, start_check};
use assent::infra::Infra;
use rocket::config::Ident;
use rocket::figment::Figment;
use rocket::{Build, Rocket};
use shuttle_runtime::{CustomError, SecretStore};

#[shuttle_runtime::main]
async fn main(
    #[shuttle_runtime::Secrets] secrets: SecretStore,
    #[shuttle_shared_db::Postgres] database_url: String,
) -> shuttle_rocket::ShuttleRocket {
    Ok(service(&secrets, &database_url).await?.into())
}

async fn service(secrets: &SecretStore, database_url: &str) -> Result<Rocket<Build>, CustomError> {
    let config = Config::from_source(&|name| secrets.get(name))?;
    if config.receipt_secrets.is_empty() {
        return Err(CustomError::msg(
            "RECEIPT_SECRETS: must be set, so that every node signs alike",
        ));
    }
    start_check::check_primary(database_url).await?;
    let database = Database::connect(database_url)?;
    postgres::migrate(&database.pool).await?;
    let figment = figment(&config);
    let infra = Infra::new(config, Clock::System, database, None)?;
    Ok(assent::server::build(figment, infra))
}

/// The figment of the program without the settings of the address, which Shuttle binds.
fn figment(config: &Config) -> Figment {
    let defaults = rocket::Config { ident: Ident::none(), ..rocket::Config::release_default() };
    let figment = Figment::from(defaults);
    match &config.client_ip_header {
        Some(header) => figment.merge(("ip_header", header)),
        None => figment.merge(("ip_header", false)),
    }
}
