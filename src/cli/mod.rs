//! The commands, and what they share: settings, database, secrets.

mod database;
mod healthcheck;
mod serve;

use std::fmt::Display;
use std::io::Write;

use assent::clock::Clock;
use assent::config::Config;
use assent::platform::{Platform, telemetry};
use assent::{accounts, billing, consent, pixels};
use clap::Subcommand;

use database::Database;

/// Why a command failed, in one sentence.
pub struct Failure(pub String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve; pending migrations run first (the default)
    Serve,
    /// Bring the database schema up to date, and end
    Migrate,
    /// Find or create the unlimited account of an address and print a new API key for it
    UnlimitedKey {
        email: String,
        /// Turn an existing account of another plan into an unlimited one
        #[arg(long)]
        upgrade: bool,
    },
    /// Revoke the API key with this 12-character prefix
    RevokeKey { prefix: String },
    /// Let an alias stand in for a pixel's id in script addresses
    Alias { pixel_id: String, alias: String },
    /// Delete the pixel that has a host, installed or not, so that the host's owner can have it
    ReleaseHost { host: String },
    /// Refuse an account's keys and take its tags off, until it is resumed
    Suspend { account_id: String },
    /// End a suspension
    Resume { account_id: String },
    /// Delete what is stored of a visitor of a pixel, and print what and how many
    EraseVisitor { pixel_id: String, visitor_id: String },
    /// Delete what is stored of an account, its visitors' receipts included, and print what and
    /// how many
    EraseAccount { account_id: String },
    /// Ask the local service whether it is well
    Healthcheck,
}

pub fn run(command: Command) -> Result<(), Failure> {
    let config = Config::from_env()?;
    telemetry::install(config.log_format);
    match command {
        Command::Serve => serve::serve(config),
        Command::Healthcheck => serve::runtime(1)?.block_on(healthcheck::ask(&config)),
        other => serve::runtime(1)?.block_on(operate(config, other)),
    }
}

/// Commands that work on the database and end.
async fn operate(config: Config, command: Command) -> Result<(), Failure> {
    let (database, config) = Database::open_for_command(config).await?;
    let done = act(&database, config, command).await;
    database.close().await;
    done
}

async fn act(database: &Database, config: Config, command: Command) -> Result<(), Failure> {
    database.migrate().await?;
    let platform =
        Platform::new(config, Clock::System, database.pool.clone(), database.pool.clone())?;
    match command {
        Command::UnlimitedKey { email, upgrade } => {
            let key = accounts::operator::unlimited_key(&platform, &email, upgrade).await?;
            writeln!(std::io::stdout(), "{}", key.expose())?;
        }
        Command::RevokeKey { prefix } => {
            accounts::operator::revoke_key(&platform, &prefix).await?;
        }
        Command::Alias { pixel_id, alias } => {
            pixels::operator::add_alias(&platform, &pixel_id, &alias).await?;
        }
        Command::ReleaseHost { host } => {
            let pixel = pixels::operator::release_host(&platform, &host).await?;
            let (host, id, owner) = (pixel.domain, pixel.pixel_id, pixel.account_id);
            writeln!(std::io::stdout(), "{host} is free: pixel {id} of {owner} is deleted")?;
        }
        Command::Suspend { account_id } => {
            accounts::operator::suspend(&platform, &account_id).await?;
        }
        Command::Resume { account_id } => {
            accounts::operator::resume(&platform, &account_id).await?;
        }
        Command::EraseVisitor { pixel_id, visitor_id } => {
            let erased = consent::operator::erase_visitor(&platform, &pixel_id, &visitor_id);
            write!(std::io::stdout(), "{}", erased.await?)?;
        }
        Command::EraseAccount { account_id } => {
            let running = billing::operator::running_subscriptions(&platform, &account_id).await?;
            let erased = consent::operator::erase_account(&platform, &account_id).await?;
            write!(std::io::stdout(), "{erased}")?;
            for subscription in running {
                writeln!(std::io::stdout(), "{subscription}")?;
            }
        }
        Command::Migrate | Command::Serve | Command::Healthcheck => {}
    }
    Ok(())
}
