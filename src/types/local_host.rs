use std::net::IpAddr;

use url::Host;

/// Whether a page's host can only be reached from the visitor's own machine or network: `localhost`,
/// a name below `localhost` or `test`, or a loopback or private address.
pub fn is_local(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    match Host::parse(host) {
        Ok(Host::Domain(name)) => {
            name == "localhost" || name.ends_with(".localhost") || name.ends_with(".test")
        }
        Ok(Host::Ipv4(address)) => is_local_address(address.into()),
        Ok(Host::Ipv6(address)) => is_local_address(address.into()),
        Err(_) => false,
    }
}

fn is_local_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_developer_are_distinguished_from_those_of_the_internet() {
        for local in [
            "localhost",
            "LocalHost.",
            "shop.localhost",
            "a.b.localhost",
            "shop.test",
            "127.0.0.1",
            "127.8.9.10",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.254",
            "192.168.178.20",
            "[::1]",
            "[fd12:3456::1]",
            "[::ffff:192.168.0.1]",
        ] {
            assert!(is_local(local), "{local}");
        }
        for public in [
            "",
            "shop.example",
            "localhost.example",
            "notlocalhost",
            "test",
            "shop.test.example",
            "172.32.0.1",
            "192.169.0.1",
            "8.8.8.8",
            "169.254.169.254",
            "[2001:db8::1]",
            "[::ffff:8.8.8.8]",
            "10.0.0.1.example",
        ] {
            assert!(!is_local(public), "{public}");
        }
    }
}
