mod database;
mod failure;
mod healthcheck;
mod listener;
mod output;
mod serve;
mod service;
mod signals;
mod verify;
mod watch;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;

use assent::accounts::operator::{ChangedEmail, id_of};
use assent::clock::Clock;
use assent::config::Config;
use assent::infra::{Infra, telemetry};
use assent::{accounts, billing, erasure, pixels, proof};
use clap::Subcommand;

use database::Database;
pub use failure::Failure;
use output::print;
use signals::StopSignals;

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
    /// List the API keys of an account that work
    Keys { account_id: String },
    /// Revoke all API keys of an account and end its signup token
    RevokeKeys { account_id: String },
    /// Let an alias stand in for a pixel's id in script addresses
    Alias { pixel_id: String, alias: String },
    /// Delete the pixel that has a host, installed or not, so that the host's owner can have it
    ReleaseHost { host: String },
    /// Refuse an account's keys and take its tags off, until it is resumed
    Suspend { account_id: String },
    /// End a suspension
    Resume { account_id: String },
    /// Give an account, by its id or its address, another address, once you know that its owner asks for
    /// it; signs everybody out of both addresses, and notifies both mailboxes
    ChangeEmail { account: String, new_email: String },
    /// Delete what is stored of a visitor of a pixel, and print what and how many
    EraseVisitor { pixel_id: String, visitor_id: String },
    /// Delete what is stored of an account, its visitors' receipts included, and print what and
    /// how many
    EraseAccount { account_id: String },
    /// Forget which LOG_STATE files have remembered the log: only when they were lost and the database
    /// was not brought back from a backup
    ForgetLogState,
    /// Visit pages with a browser and report what they load or store without consent; ends with 0
    /// when they are silent, 1 when anything leaked, 2 when they could not be observed
    Watch(watch::Arguments),
    /// End the browsers of a run that was killed
    #[command(name = assent::browser::guard::COMMAND, hide = true)]
    WatchGuard { folder: PathBuf },
    /// Take the pictures of the popups in a folder, for a node
    #[command(name = assent::watch::SCREENSHOTS_COMMAND, hide = true)]
    PopupScreenshots { folder: PathBuf },
    /// Check a proof file, or the report of a watch, without a network, and say what it shows; ends
    /// with 1 when it is broken
    Verify(verify::Arguments),
    /// Cosign logs of others that are only added to; needs WITNESS_KEY, and no database
    Witness(witness::Arguments),
    /// Ask the local service whether it is well
    Healthcheck,
}

/// Runs a command, and returns its exit code.
pub fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        // Verifying needs no settings.
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Watch(arguments) => Ok(watch::run(arguments)),
        Command::WatchGuard { folder } => {
            assent::browser::guard::guard(&folder);
            Ok(ExitCode::SUCCESS)
        }
        Command::PopupScreenshots { folder } => watch::screenshots(&folder),
        other => work(other).map(|()| ExitCode::SUCCESS),
    }
}

fn work(command: Command) -> Result<(), Failure> {
    let config = Config::from_env()?;
    telemetry::install(config.log_format);
    if matches!(command, Command::UnlimitedKey { .. } | Command::Keys { .. }) {
        output::must_be_open()?;
    }
    match command {
        Command::Serve => serve::serve(config),
        Command::Witness(arguments) => {
            serve::runtime(1)?.block_on(witness::witness(config, arguments))
        }
        Command::Healthcheck => serve::runtime(1)?.block_on(healthcheck::ask(&config)),
        other => serve::runtime(1)?.block_on(operate(config, other)),
    }
}

async fn operate(config: Config, command: Command) -> Result<(), Failure> {
    let stopped = || Err(Failure("stopped by a signal".to_owned()));
    let mut signals = StopSignals::listen()?;
    let (database, config) = tokio::select! {
        opened = Database::open_for_command(config) => opened?,
        () = signals.received() => return stopped(),
    };
    let done = tokio::select! {
        done = act(&database, config, command) => done,
        () = signals.received() => stopped(),
    };
    database.close().await;
    done
}

async fn act(database: &Database, config: Config, command: Command) -> Result<(), Failure> {
    database.migrate().await?;
    let infra = Infra::new(config, Clock::System, database.postgres.clone(), None)?;
    match command {
        Command::UnlimitedKey { email, upgrade } => {
            let key = accounts::operator::unlimited_key(&infra, &email, upgrade).await?;
            if let Err(Failure(unwritten)) = print(format_args!("{}\n", key.expose())) {
                // Nobody received the key, so it must not stay valid.
                accounts::operator::revoke_key(&infra.pool, &infra.clock, key.prefix()).await?;
                return Err(Failure(format!("{unwritten}; the new key is revoked")));
            }
        }
        Command::RevokeKey { prefix } => {
            accounts::operator::revoke_key(&infra.pool, &infra.clock, &prefix).await?;
        }
        Command::Keys { account_id } => {
            let id = id_of(&account_id)?;
            for key in accounts::operator::list_keys(&infra.pool, &infra.clock, &id).await? {
                print(format_args!("{key}\n"))?;
            }
        }
        Command::RevokeKeys { account_id } => {
            let id = id_of(&account_id)?;
            let ended = accounts::operator::revoke_keys(&infra.pool, &infra.clock, &id).await?;
            let (keys, tokens) = (ended.api_keys, ended.signup_tokens);
            print(format_args!("API keys: {keys}\nsignup tokens: {tokens}\n"))?;
        }
        Command::Alias { pixel_id, alias } => {
            pixels::operator::add_alias(&infra.pool, &infra.changes, &pixel_id, &alias).await?;
        }
        Command::ReleaseHost { host } => {
            let released = pixels::operator::release_host(&infra, &host).await?;
            let (host, id, owner) = (released.host, released.pixel_id, released.account_id);
            let end = if released.is_deleted { "is deleted" } else { "has moved away for good" };
            print(format_args!("{host} is free: pixel {id} of {owner} {end}\n"))?;
        }
        Command::Suspend { account_id } => {
            accounts::operator::suspend(&infra, &id_of(&account_id)?).await?;
        }
        Command::Resume { account_id } => {
            accounts::operator::resume(&infra, &id_of(&account_id)?).await?;
        }
        Command::ChangeEmail { account, new_email } => {
            change_email(&infra, &account, &new_email).await?;
        }
        Command::EraseVisitor { pixel_id, visitor_id } => {
            let erased =
                erasure::operator::erase_visitor(&infra.pool, &infra.clock, &pixel_id, &visitor_id);
            print(erased.await?)?;
        }
        Command::EraseAccount { account_id } => {
            let id = id_of(&account_id)?;
            let running = billing::operator::running_subscriptions(&infra.pool, &id).await?;
            let erased = erasure::operator::erase_account(&infra, &id).await?;
            print(erased)?;
            for subscription in running {
                print(format_args!("{subscription}\n"))?;
            }
        }
        Command::ForgetLogState => {
            let forgotten = proof::operator::forget_files(&infra.pool).await?;
            print(format_args!("forgotten files: {forgotten}\n"))?;
        }
        Command::Migrate
        | Command::Serve
        | Command::Verify(_)
        | Command::Watch(_)
        | Command::WatchGuard { .. }
        | Command::PopupScreenshots { .. }
        | Command::Witness(_)
        | Command::Healthcheck => {}
    }
    Ok(())
}

async fn change_email(infra: &Infra, account: &str, new_email: &str) -> Result<(), Failure> {
    let changed = accounts::operator::change_email(infra, account, new_email).await?;
    let ChangedEmail { account_id, from, to, mails } = changed;
    print(format_args!("{account_id}: {from} is replaced by {to}\nmails: {mails}\n"))
}
