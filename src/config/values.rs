use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use url::{Host, Url};

use super::secret::Secret;
use super::variables::{ConfigError, problem_with};

pub fn postgres_url(variable: &'static str) -> impl Fn(Secret) -> Result<Secret, ConfigError> {
    move |secret| match secret.expose().parse::<sqlx::postgres::PgConnectOptions>() {
        Ok(_) if secret.expose().starts_with("postgres") => Ok(secret),
        _ => Err(problem_with(variable, "must be a postgres:// address")),
    }
}

pub fn receipt_secrets(list: Option<Secret>) -> Result<Vec<Secret>, ConfigError> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let secrets =
        list.expose().split(',').map(|secret| Secret::new(secret.trim())).collect::<Vec<_>>();
    if secrets.iter().any(|secret| secret.expose().len() < 16) {
        let problem = "must be a comma-separated list of secrets of at least 16 characters each";
        return Err(problem_with("RECEIPT_SECRETS", problem));
    }
    Ok(secrets)
}

pub fn log_key(variable: &'static str) -> impl Fn(Secret) -> Result<Secret, ConfigError> {
    move |secret| match hex::decode(secret.expose()) {
        Ok(seed) if seed.len() == 32 => Ok(secret),
        _ => Err(problem_with(variable, "must be 64 hexadecimal digits")),
    }
}

/// An http(s) URL, optionally with a name and a password.
pub fn http_address(variable: &'static str) -> impl Fn(Secret) -> Result<Secret, ConfigError> {
    move |secret| match Url::parse(secret.expose()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(secret),
        _ => Err(problem_with(variable, "must be an http:// or https:// address")),
    }
}

/// An http(s) URL, without its trailing slash.
pub fn http_base(text: &str) -> Result<String, String> {
    let problem = || "must be an http:// or https:// address".to_owned();
    let url = Url::parse(text).map_err(|_| problem())?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
        return Err(problem());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Like [`http_base`], but without a path, because scripts and links are built from it.
pub fn origin(text: &str) -> Result<String, String> {
    let base = http_base(text)?;
    let url = Url::parse(&base).map_err(|error| error.to_string())?;
    if url.path() != "/" {
        return Err(
            "must be an address without a path such as https://consent.example.com".to_owned()
        );
    }
    Ok(base)
}

pub fn host(text: &str) -> Result<String, String> {
    Host::parse(text)
        .map(|host| host.to_string())
        .map_err(|_| "must be a host such as pixel.example.com".to_owned())
}

pub fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

pub fn days(text: &str) -> Result<u32, String> {
    whole_number(text, 1, 36_500, "days").map(|days| u32::try_from(days).unwrap_or(u32::MAX))
}

pub fn whole_number(text: &str, least: u64, most: u64, unit: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a whole number of {unit} from {least} to {most}"))
}

pub fn header_name(text: &str) -> Result<String, String> {
    let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    valid
        .then(|| text.to_owned())
        .ok_or_else(|| "must be the name of a header such as X-Real-IP".to_owned())
}

pub fn readable_file(text: &str) -> Result<PathBuf, String> {
    std::fs::metadata(text)
        .map(|_| PathBuf::from(text))
        .map_err(|error| format!("{text} cannot be read: {error}"))
}

/// A file that exists or can be created: its folder must exist.
pub fn file_in_folder(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    if file.is_dir() {
        let example = file.join("log-checkpoint");
        return Err(format!(
            "{text} is a folder; name a file in it, such as {}",
            example.display()
        ));
    }
    match folder.is_dir() && file.file_name().is_some() {
        true => Ok(file),
        false => Err(format!("there is no folder {}", folder.display())),
    }
}

pub fn text_of_file(text: &str) -> Result<String, String> {
    std::fs::read_to_string(text).map_err(|error| format!("{text} cannot be read: {error}"))
}

pub fn readable_folder(text: &str) -> Result<PathBuf, String> {
    std::fs::read_dir(text)
        .map(|_| PathBuf::from(text))
        .map_err(|error| format!("{text} cannot be read as a folder: {error}"))
}

/// `host=127.0.0.1:8443,other=[::1]:8443`
pub fn resolve_list(text: &str) -> Result<HashMap<String, SocketAddr>, String> {
    text.split(',')
        .map(|pair| {
            let (host, address) = pair.split_once('=')?;
            Some((host.trim().to_ascii_lowercase(), address.trim().parse().ok()?))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "must be a list such as shop.example=127.0.0.1:8443".to_owned())
}

/// `192.0.2.1,[2001:db8::1]:5353`, at port 53 by default.
pub fn dns_servers(text: &str) -> Result<Vec<SocketAddr>, String> {
    let server = |part: &str| {
        let address = part.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53));
        address.or_else(|_| part.parse()).ok()
    };
    text.split(',')
        .map(|part| server(part.trim()))
        .collect::<Option<_>>()
        .ok_or_else(|| "must be a list of addresses such as 192.0.2.1 or 127.0.0.1:5353".to_owned())
}
