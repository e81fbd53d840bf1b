//! The service's settings: read once from the environment, validated and typed. Every variable `NAME`
//! with a secret may be given as `NAME_FILE`, a file that contains the value. An invalid value
//! prevents the start with a sentence that names the variable.

mod secret;
mod smtp;
mod values;
mod variables;

use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use lettre::Address;
use lettre::message::Mailbox;

pub use self::secret::Secret;
pub use self::smtp::{SmtpAddress, SmtpEncryption};
use self::values::{
    days, dns_servers, file_in_folder, header_name, host, http_address, http_base, log_key,
    on_or_off, origin, postgres_url, readable_file, readable_folder, receipt_secrets, resolve_list,
    text_of_file, whole_number,
};
pub use self::variables::ConfigError;
use self::variables::Variables;

/// The payment provider's settings; without a secret key, checkout is not configured.
#[derive(Clone, Debug)]
pub struct StripeConfig {
    /// `STRIPE_SECRET_KEY`
    pub secret_key: Option<Secret>,
    /// `STRIPE_WEBHOOK_SECRET`
    pub webhook_secret: Option<Secret>,
    /// `STRIPE_PRICE_ID`: a recurring price. If unset, an inline price of 100 US cents per month is used.
    pub price_id: Option<String>,
    /// `STRIPE_API_BASE`, without a trailing slash.
    pub api_base: String,
}

#[derive(Clone, Debug)]
pub struct InstallCheckConfig {
    /// `INSTALL_CHECK`: `on` or `off`.
    pub enabled: bool,
    /// `INSTALL_CHECK_RESOLVE`: hosts with fixed addresses, which may be private.
    pub resolve: HashMap<String, SocketAddr>,
    /// `INSTALL_CHECK_CA_FILE`: one more trusted certificate authority, PEM.
    pub ca_file: Option<PathBuf>,
    /// `CLAIM_DNS`: DNS servers for the records of claims. If empty, the machine's servers are used.
    pub claim_dns: Vec<SocketAddr>,
}

#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// `WEBHOOK_RESOLVE`: hosts with fixed addresses, which may be private.
    pub resolve: HashMap<String, SocketAddr>,
    /// `WEBHOOK_CA_FILE`: one more trusted certificate authority, PEM.
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct OperatorConfig {
    /// `OPERATOR_NAME`: the company or person.
    pub name: Option<String>,
    /// `OPERATOR_ADDRESS`: the postal address.
    pub address: Option<String>,
    /// `OPERATOR_EMAIL`: for questions about privacy.
    pub email: Option<Address>,
    /// `OPERATOR_PAPERS`: a folder whose Markdown files replace the built-in texts.
    pub papers: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Retention periods, in days.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// `RETENTION_DAYS_SHOWN`: counts of impressions.
    pub shown: u32,
    /// `RETENTION_DAYS_UNCONFIRMED`: accounts that never confirmed their address.
    pub unconfirmed: u32,
    /// `RETENTION_DAYS_RECEIPTS`: receipts. If unset, they are kept permanently.
    pub receipts: Option<u32>,
    /// `RETENTION_DAYS_WITHDRAWN`: contacts whose consent has ended.
    pub withdrawn: u32,
}

/// Stands for an unset `TAG_CDN_BASE`: a name that never resolves (RFC 6761).
pub const NO_TAG_CDN: &str = "https://tags.invalid";

#[derive(Clone, Debug)]
pub struct Config {
    /// `DATABASE_URL`. If unset, the service runs an embedded PostgreSQL.
    pub database_url: Option<Secret>,
    /// `DATABASE_READ_URL`: a replica for log, export, contacts and stats.
    pub database_read_url: Option<Secret>,
    /// `BASE_URL` without a trailing slash. If unset, it is derived from the listening address.
    pub base_url: Option<String>,
    /// `RECEIPT_SECRETS`: the first signs, all verify. If unset, the secret of the embedded database is added later.
    pub receipt_secrets: Vec<Secret>,
    /// `LOG_KEY`: the seed of the key that signs the log, 64 hex digits. Without a key there is no log.
    pub log_key: Option<Secret>,
    /// `LOG_NUMBER`: the number of the log, increased when it starts again after a loss.
    pub log_number: u32,
    /// `LOG_STATE`: the file outside the database with the last checkpoint of the log. If unset, it
    /// is a file beside the embedded database, or `None` with `DATABASE_URL`.
    pub log_state: Option<PathBuf>,
    /// `LOG_WITNESSES`: the text of the policy file with the witnesses of the log.
    pub log_witnesses: Option<String>,
    /// `WITNESS_KEY`: the seed of the key with which `assent witness` cosigns other logs.
    pub witness_key: Option<Secret>,
    /// `WATCH_KEY`: the seed of the key with which `assent watch` signs reports.
    pub watch_key: Option<Secret>,
    /// `WATCH_BROWSER`: the browser that `assent watch` starts. If it is set, nodes watch sites too.
    pub watch_browser: Option<PathBuf>,
    /// `ASSENT_API_KEY`: the key with which `assent watch` submits reports, and reads the hosts that the owner allows.
    pub api_key: Option<Secret>,
    /// `TIMESTAMP_URL`: the authority that timestamps the log; it may contain a name and a password.
    pub timestamp_url: Option<Secret>,
    /// `SMTP_URL`. If unset, no mails are sent.
    pub smtp: Option<SmtpAddress>,
    /// `MAIL_FROM`
    pub mail_from: Option<Mailbox>,
    pub stripe: StripeConfig,
    /// `TAG_CDN_BASE` without a trailing slash, or [`NO_TAG_CDN`].
    pub tag_cdn_base: String,
    /// `PIXEL_SITE_HOST`, lowercase.
    pub pixel_site_host: Option<String>,
    /// `PERMISSION_SITE_HOST`, lowercase.
    pub permission_site_host: Option<String>,
    pub install_check: InstallCheckConfig,
    pub webhooks: WebhookConfig,
    pub operator: OperatorConfig,
    /// `CLIENT_IP_HEADER`: a header that a trusted proxy overwrites.
    pub client_ip_header: Option<String>,
    /// `RATE_LIMITS`: `on` or `off`.
    pub rate_limits: bool,
    pub retention: Retention,
    /// `SCRIPT_CACHE_MIB`: maximum size of the cache of prebuilt scripts, in MiB.
    pub script_cache_mib: u64,
    /// `LOG_FORMAT`: `text` or `json`.
    pub log_format: LogFormat,
    /// `METRICS_ADDRESS`: the address of the Prometheus listener.
    pub metrics_address: Option<SocketAddr>,
    /// `PORT`, which container platforms set. Rocket's own `ROCKET_PORT` takes precedence.
    pub port: Option<u16>,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_source(&|name| std::env::var(name).ok())
    }

    /// Reads settings from any source of named values; an empty value counts as unset.
    pub fn from_source(source: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let vars = Variables(source);
        Ok(Self {
            database_url: vars
                .secret("DATABASE_URL")?
                .map(postgres_url("DATABASE_URL"))
                .transpose()?,
            database_read_url: vars
                .secret("DATABASE_READ_URL")?
                .map(postgres_url("DATABASE_READ_URL"))
                .transpose()?,
            base_url: vars.parsed("BASE_URL", origin)?,
            receipt_secrets: receipt_secrets(vars.secret("RECEIPT_SECRETS")?)?,
            log_key: vars.secret("LOG_KEY")?.map(log_key("LOG_KEY")).transpose()?,
            log_number: vars
                .parsed("LOG_NUMBER", |text| match text.parse() {
                    Ok(number) if number > 0 => Ok(number),
                    _ => Err("must be a number from 1".to_owned()),
                })?
                .unwrap_or(1),
            log_state: vars.parsed("LOG_STATE", file_in_folder)?,
            log_witnesses: vars.parsed("LOG_WITNESSES", text_of_file)?,
            witness_key: vars.secret("WITNESS_KEY")?.map(log_key("WITNESS_KEY")).transpose()?,
            watch_key: vars.secret("WATCH_KEY")?.map(log_key("WATCH_KEY")).transpose()?,
            watch_browser: vars.text("WATCH_BROWSER").map(PathBuf::from),
            api_key: vars.secret("ASSENT_API_KEY")?,
            timestamp_url: vars
                .secret("TIMESTAMP_URL")?
                .map(http_address("TIMESTAMP_URL"))
                .transpose()?,
            smtp: vars.secret("SMTP_URL")?.as_ref().map(SmtpAddress::parse).transpose()?,
            mail_from: vars.parsed("MAIL_FROM", |text| {
                text.parse().map_err(|_| {
                    "must be an address such as Assent <no-reply@example.com>".to_owned()
                })
            })?,
            stripe: StripeConfig {
                secret_key: vars.secret("STRIPE_SECRET_KEY")?,
                webhook_secret: vars.secret("STRIPE_WEBHOOK_SECRET")?,
                price_id: vars.text("STRIPE_PRICE_ID"),
                api_base: vars
                    .parsed("STRIPE_API_BASE", http_base)?
                    .unwrap_or_else(|| "https://api.stripe.com".to_owned()),
            },
            tag_cdn_base: vars
                .parsed("TAG_CDN_BASE", http_base)?
                .unwrap_or_else(|| NO_TAG_CDN.to_owned()),
            pixel_site_host: vars.parsed("PIXEL_SITE_HOST", host)?,
            permission_site_host: vars.parsed("PERMISSION_SITE_HOST", host)?,
            install_check: InstallCheckConfig {
                enabled: vars.parsed("INSTALL_CHECK", on_or_off)?.unwrap_or(true),
                resolve: vars.parsed("INSTALL_CHECK_RESOLVE", resolve_list)?.unwrap_or_default(),
                ca_file: vars.parsed("INSTALL_CHECK_CA_FILE", readable_file)?,
                claim_dns: vars.parsed("CLAIM_DNS", dns_servers)?.unwrap_or_default(),
            },
            webhooks: WebhookConfig {
                resolve: vars.parsed("WEBHOOK_RESOLVE", resolve_list)?.unwrap_or_default(),
                ca_file: vars.parsed("WEBHOOK_CA_FILE", readable_file)?,
            },
            operator: OperatorConfig {
                name: vars.text("OPERATOR_NAME"),
                address: vars.text("OPERATOR_ADDRESS"),
                email: vars.parsed("OPERATOR_EMAIL", |text| {
                    text.parse()
                        .map_err(|_| "must be an address such as privacy@example.com".to_owned())
                })?,
                papers: vars.parsed("OPERATOR_PAPERS", readable_folder)?,
            },
            client_ip_header: vars.parsed("CLIENT_IP_HEADER", header_name)?,
            rate_limits: vars.parsed("RATE_LIMITS", on_or_off)?.unwrap_or(true),
            retention: Retention {
                shown: vars.parsed("RETENTION_DAYS_SHOWN", days)?.unwrap_or(400),
                unconfirmed: vars.parsed("RETENTION_DAYS_UNCONFIRMED", days)?.unwrap_or(30),
                receipts: vars.parsed("RETENTION_DAYS_RECEIPTS", days)?,
                withdrawn: vars.parsed("RETENTION_DAYS_WITHDRAWN", days)?.unwrap_or(7),
            },
            script_cache_mib: vars
                .parsed("SCRIPT_CACHE_MIB", |text| whole_number(text, 1, 1 << 20, "MiB"))?
                .unwrap_or(32),
            log_format: vars
                .parsed("LOG_FORMAT", |text| match text {
                    "text" => Ok(LogFormat::Text),
                    "json" => Ok(LogFormat::Json),
                    _ => Err("must be text or json".to_owned()),
                })?
                .unwrap_or(LogFormat::Text),
            metrics_address: vars.parsed("METRICS_ADDRESS", |text| {
                let problem = "must be an address and a port such as 127.0.0.1:9100";
                text.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or(problem.to_owned())
            })?,
            port: vars.parsed("PORT", |text| {
                text.parse().map_err(|_| "must be a port, a number from 0 to 65535".to_owned())
            })?,
        })
    }
}

#[cfg(test)]
mod tests;
