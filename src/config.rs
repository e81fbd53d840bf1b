//! The service's settings: read once from the environment, checked, typed.
//!
//! Every variable `NAME` that holds a secret may be given as `NAME_FILE`, a file with the value.
//! A bad value stops the start with a sentence that names the variable.

use std::collections::HashMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use lettre::message::Mailbox;
use url::{Host, Url};

/// A value that must never be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

/// A setting that cannot be used; its text is one sentence for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct ConfigError {
    pub variable: String,
    pub problem: String,
}

/// The payment provider's settings; without a secret key checkout is not configured.
#[derive(Clone, Debug)]
pub struct StripeConfig {
    /// `STRIPE_SECRET_KEY`
    pub secret_key: Option<Secret>,
    /// `STRIPE_WEBHOOK_SECRET`
    pub webhook_secret: Option<Secret>,
    /// `STRIPE_PRICE_ID`: a recurring price; unset, an inline price of 100 US cents a month.
    pub price_id: Option<String>,
    /// `STRIPE_API_BASE`, without a trailing slash.
    pub api_base: String,
}

/// The install checker's settings.
#[derive(Clone, Debug)]
pub struct InstallCheckConfig {
    /// `INSTALL_CHECK`: `on` or `off`.
    pub enabled: bool,
    /// `INSTALL_CHECK_RESOLVE`: hosts whose address is given by hand and allowed to be private.
    pub resolve: HashMap<String, SocketAddr>,
    /// `INSTALL_CHECK_CA_FILE`: one more trusted certificate authority, PEM.
    pub ca_file: Option<PathBuf>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Days until stored things are deleted.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// `RETENTION_DAYS_SHOWN`: counts of shown popups.
    pub shown: u32,
    /// `RETENTION_DAYS_UNCONFIRMED`: accounts that never confirmed their address.
    pub unconfirmed: u32,
    /// `RETENTION_DAYS_RECEIPTS`: receipts; unset, they are kept for good.
    pub receipts: Option<u32>,
}

/// All settings of the service.
#[derive(Clone, Debug)]
pub struct Config {
    /// `DATABASE_URL`; unset, the service runs a PostgreSQL of its own.
    pub database_url: Option<Secret>,
    /// `DATABASE_READ_URL`: a replica for log, export, contacts and stats.
    pub database_read_url: Option<Secret>,
    /// `BASE_URL` without a trailing slash; unset, `http://localhost:` and the port in use.
    pub base_url: Option<String>,
    /// `RECEIPT_SECRETS`: the first signs, every one verifies. Empty until one is found or made.
    pub receipt_secrets: Vec<Secret>,
    /// `SMTP_URL`; unset, mails are skipped.
    pub smtp_url: Option<Secret>,
    /// `MAIL_FROM`
    pub mail_from: Option<Mailbox>,
    pub stripe: StripeConfig,
    /// `TAG_CDN_BASE` without a trailing slash.
    pub tag_cdn_base: String,
    /// `PIXEL_SITE_HOST`, lowercase.
    pub pixel_site_host: Option<String>,
    /// `PERMISSION_SITE_HOST`, lowercase.
    pub permission_site_host: Option<String>,
    pub install_check: InstallCheckConfig,
    /// `CLIENT_IP_HEADER`: a header that a trusted proxy overwrites.
    pub client_ip_header: Option<String>,
    /// `RATE_LIMITS`: `on` or `off`.
    pub rate_limits: bool,
    pub retention: Retention,
    /// `SCRIPT_CACHE_MIB`: upper bound of the prebuilt scripts, in MiB.
    pub script_cache_mib: u64,
    /// `LOG_FORMAT`: `text` or `json`.
    pub log_format: LogFormat,
    /// `METRICS_ADDRESS`: where the Prometheus listener binds.
    pub metrics_address: Option<SocketAddr>,
    /// `PORT`: what container platforms set; Rocket's own `ROCKET_PORT` wins.
    pub port: Option<u16>,
}

impl Config {
    /// Reads the process's environment.
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
            smtp_url: vars.secret("SMTP_URL")?.map(smtp_url).transpose()?,
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
                .unwrap_or_else(|| "https://tags.invalid".to_owned()),
            pixel_site_host: vars.parsed("PIXEL_SITE_HOST", host)?,
            permission_site_host: vars.parsed("PERMISSION_SITE_HOST", host)?,
            install_check: InstallCheckConfig {
                enabled: vars.parsed("INSTALL_CHECK", on_or_off)?.unwrap_or(true),
                resolve: vars.parsed("INSTALL_CHECK_RESOLVE", resolve_list)?.unwrap_or_default(),
                ca_file: vars.parsed("INSTALL_CHECK_CA_FILE", readable_file)?,
            },
            client_ip_header: vars.parsed("CLIENT_IP_HEADER", header_name)?,
            rate_limits: vars.parsed("RATE_LIMITS", on_or_off)?.unwrap_or(true),
            retention: Retention {
                shown: vars.parsed("RETENTION_DAYS_SHOWN", days)?.unwrap_or(400),
                unconfirmed: vars.parsed("RETENTION_DAYS_UNCONFIRMED", days)?.unwrap_or(30),
                receipts: vars.parsed("RETENTION_DAYS_RECEIPTS", days)?,
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

/// Named values with the error texts that every variable shares.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        self.text(name)
            .map(|value| parse(&value).map_err(|problem| problem_with(name, problem)))
            .transpose()
    }

    fn secret(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        if let Some(value) = self.text(name) {
            return Ok(Some(Secret(value)));
        }
        let file_variable = format!("{name}_FILE");
        let Some(path) = self.text(&file_variable) else { return Ok(None) };
        let value = std::fs::read_to_string(&path).map_err(|error| {
            problem_with(&file_variable, format!("{path} cannot be read: {error}"))
        })?;
        let value = value.trim();
        if value.is_empty() {
            return Err(problem_with(&file_variable, format!("{path} is empty")));
        }
        Ok(Some(Secret(value.to_owned())))
    }
}

fn problem_with(variable: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError { variable: variable.to_owned(), problem: problem.into() }
}

fn postgres_url(variable: &'static str) -> impl Fn(Secret) -> Result<Secret, ConfigError> {
    move |secret| match secret.0.parse::<sqlx::postgres::PgConnectOptions>() {
        Ok(_) if secret.0.starts_with("postgres") => Ok(secret),
        _ => Err(problem_with(variable, "must be a postgres:// address")),
    }
}

fn smtp_url(secret: Secret) -> Result<Secret, ConfigError> {
    lettre::AsyncSmtpTransport::<lettre::Tokio1Executor>::from_url(&secret.0)
        .map(|_| secret)
        .map_err(|_| {
            problem_with(
                "SMTP_URL",
                "must be an address such as smtp://user:password@host:587?tls=required",
            )
        })
}

fn receipt_secrets(list: Option<Secret>) -> Result<Vec<Secret>, ConfigError> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let secrets =
        list.0.split(',').map(|secret| Secret(secret.trim().to_owned())).collect::<Vec<_>>();
    if secrets.iter().any(|secret| secret.0.len() < 16) {
        let problem = "must be a comma-separated list of secrets of at least 16 characters each";
        return Err(problem_with("RECEIPT_SECRETS", problem));
    }
    Ok(secrets)
}

/// An http(s) address, its trailing slash removed.
fn http_base(text: &str) -> Result<String, String> {
    let problem = || "must be an http:// or https:// address".to_owned();
    let url = Url::parse(text).map_err(|_| problem())?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
        return Err(problem());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// As [`http_base`], without a path: scripts and links are built from it.
fn origin(text: &str) -> Result<String, String> {
    let base = http_base(text)?;
    let url = Url::parse(&base).map_err(|error| error.to_string())?;
    if url.path() != "/" {
        return Err(
            "must be an address without a path such as https://consent.example.com".to_owned()
        );
    }
    Ok(base)
}

fn host(text: &str) -> Result<String, String> {
    Host::parse(text)
        .map(|host| host.to_string())
        .map_err(|_| "must be a host such as pixel.example.com".to_owned())
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

fn days(text: &str) -> Result<u32, String> {
    whole_number(text, 1, 36_500, "days").map(|days| u32::try_from(days).unwrap_or(u32::MAX))
}

fn whole_number(text: &str, least: u64, most: u64, unit: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a whole number of {unit} from {least} to {most}"))
}

fn header_name(text: &str) -> Result<String, String> {
    let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    valid
        .then(|| text.to_owned())
        .ok_or_else(|| "must be the name of a header such as X-Real-IP".to_owned())
}

fn readable_file(text: &str) -> Result<PathBuf, String> {
    std::fs::metadata(text)
        .map(|_| PathBuf::from(text))
        .map_err(|error| format!("{text} cannot be read: {error}"))
}

/// `host=127.0.0.1:8443,other=[::1]:8443`
fn resolve_list(text: &str) -> Result<HashMap<String, SocketAddr>, String> {
    text.split(',')
        .map(|pair| {
            let (host, address) = pair.split_once('=')?;
            Some((host.trim().to_ascii_lowercase(), address.trim().parse().ok()?))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "must be a list such as shop.example=127.0.0.1:8443".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let map = pairs.collect::<HashMap<_, _>>();
        Config::from_source(&|name| map.get(name).cloned())
    }

    #[test]
    fn an_empty_environment_gives_the_documented_defaults() {
        let config = config(&[]).unwrap();
        assert!(config.database_url.is_none() && config.base_url.is_none());
        assert!(config.rate_limits && config.install_check.enabled);
        assert_eq!(config.tag_cdn_base, "https://tags.invalid");
        assert_eq!(config.stripe.api_base, "https://api.stripe.com");
        assert_eq!((config.retention.shown, config.retention.unconfirmed), (400, 30));
        assert_eq!(config.script_cache_mib, 32);
    }

    #[test]
    fn every_bad_value_is_refused_with_a_sentence_that_names_its_variable() {
        let bad = [
            ("DATABASE_URL", "mysql://x"),
            ("DATABASE_READ_URL", "nonsense"),
            ("BASE_URL", "ftp://x"),
            ("BASE_URL", "https://x.example/path"),
            ("RECEIPT_SECRETS", "short"),
            ("RECEIPT_SECRETS", "long-enough-secret-1,"),
            ("SMTP_URL", "http://x"),
            ("MAIL_FROM", "not an address"),
            ("STRIPE_API_BASE", "x"),
            ("TAG_CDN_BASE", "//x"),
            ("PIXEL_SITE_HOST", "a b"),
            ("PERMISSION_SITE_HOST", "a/b"),
            ("INSTALL_CHECK", "maybe"),
            ("INSTALL_CHECK_RESOLVE", "shop.example"),
            ("INSTALL_CHECK_CA_FILE", "/does/not/exist"),
            ("CLIENT_IP_HEADER", "X Real IP"),
            ("RATE_LIMITS", "0"),
            ("RETENTION_DAYS_SHOWN", "0"),
            ("RETENTION_DAYS_UNCONFIRMED", "-1"),
            ("RETENTION_DAYS_RECEIPTS", "soon"),
            ("SCRIPT_CACHE_MIB", "0"),
            ("LOG_FORMAT", "xml"),
            ("METRICS_ADDRESS", "9100"),
            ("PORT", "70000"),
        ];
        for (variable, value) in bad {
            let error = config(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{variable}: ")), "{error}");
        }
    }

    #[test]
    fn secrets_can_be_files_and_are_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets");
        std::fs::write(&file, "first-receipt-secret,second-receipt-secret\n").unwrap();
        let config = config(&[("RECEIPT_SECRETS_FILE", file.to_str().unwrap())]).unwrap();
        assert_eq!(config.receipt_secrets.len(), 2);
        assert!(!format!("{config:?}").contains("receipt-secret"));
    }
}
