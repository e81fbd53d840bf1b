use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use assent::config::Config;
use rocket::config::{Ident, LogLevel, Shutdown};
use rocket::figment::Figment;
use rocket::figment::providers::{Env, Format, Toml};

use super::failure::Failure;

/// Seconds in which running requests may finish after a signal.
const GRACE: u32 = 10;

/// Rocket's settings: our defaults, then `Rocket.toml`, then `PORT`, then `ROCKET_…`.
pub fn figment(config: &Config) -> Figment {
    let defaults = rocket::Config {
        ident: Ident::none(),
        log_level: LogLevel::Off,
        cli_colors: false,
        shutdown: Shutdown {
            ctrlc: false,
            signals: [].into(),
            grace: GRACE,
            mercy: 3,
            ..Shutdown::default()
        },
        ..rocket::Config::release_default()
    };
    let mut figment = Figment::from(defaults)
        .merge(Toml::file(Env::var_or("ROCKET_CONFIG", "Rocket.toml")).nested());
    if let Some(port) = config.port {
        figment = figment.merge(("port", port));
    }
    figment = figment.merge(Env::prefixed("ROCKET_").ignore(&["PROFILE"]).global());
    // The service reads the trusted header itself (`http::client::client_address`).
    figment.merge(("ip_header", false))
}

pub fn local_addresses(config: &Config) -> Result<Vec<SocketAddr>, Failure> {
    let figment = figment(config);
    let wrong = |error| Failure(format!("the settings of the listener cannot be read: {error}"));
    let address = figment.extract_inner::<IpAddr>("address").map_err(wrong)?;
    let port = figment.extract_inner::<u16>("port").map_err(wrong)?;
    let reachable = match address {
        IpAddr::V4(address) if address.is_unspecified() => vec![Ipv4Addr::LOCALHOST.into()],
        // On most machines a listener on the unspecified IPv6 address accepts IPv4 as well.
        IpAddr::V6(address) if address.is_unspecified() => {
            vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]
        }
        address => vec![address],
    };
    Ok(reachable.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}
