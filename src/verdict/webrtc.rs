//! Maps the addresses to which WebRTC sent packets to host names.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use nix::ifaddrs::getifaddrs;

/// A server that a page named: host and port.
type Server = (String, u16);

/// Assigns hosts to addresses, from the servers that pages named. An address keeps its first host.
#[derive(Default)]
pub struct Hosts {
    known: HashMap<SocketAddr, Option<String>>,
    /// Addresses of the page's own servers, by port and by whether they are IPv6 addresses.
    own: HashMap<(u16, bool), BTreeSet<IpAddr>>,
}

impl Hosts {
    /// The host of an address; the address itself if no server matches. `None` for this machine's own addresses without
    /// a matching server: two connections of one page communicate through them.
    pub fn of(
        &mut self,
        address: SocketAddr,
        servers: &[Server],
        is_foreign: impl Fn(&str) -> bool,
    ) -> Option<String> {
        if let Some(host) = self.known.get(&address) {
            return host.clone();
        }
        let named = self.named(address, servers, is_foreign);
        let host = named.or_else(|| (!is_own(address.ip())).then(|| text(address.ip())));
        self.known.insert(address, host.clone());
        host
    }

    /// The server with this address, else a foreign, else an own server with its port. Own servers get at most as many
    /// addresses per port and IP version as there are servers, so that they do not hide unnamed servers.
    fn named(
        &mut self,
        address: SocketAddr,
        servers: &[Server],
        is_foreign: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let text = text(address.ip());
        if servers.iter().any(|(host, _)| *host == text) {
            return Some(text);
        }
        let of_port = servers.iter().filter(|(_, port)| *port == address.port());
        let of_port = of_port.map(|(host, _)| host.as_str()).filter(|host| !is_address(host));
        let (foreign, own): (BTreeSet<&str>, BTreeSet<&str>) =
            of_port.partition(|host| is_foreign(host));
        if let Some(host) = foreign.first() {
            return Some((*host).to_owned());
        }
        let used = self.own.entry((address.port(), address.is_ipv6())).or_default();
        let is_first = used.len() < own.len() && used.insert(address.ip());
        own.first()
            .filter(|_| is_first || used.contains(&address.ip()))
            .map(|host| (*host).to_owned())
    }
}

/// Formats an address as the host of a URL.
fn text(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn is_address(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

fn is_own(ip: IpAddr) -> bool {
    let interfaces = getifaddrs().into_iter().flatten();
    let mut addresses =
        interfaces.filter_map(|interface| interface.address).filter_map(|address| {
            let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        });
    ip.is_loopback() || addresses.any(|own| own == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(servers: &[(&str, u16)], addresses: &[&str]) -> Vec<Option<String>> {
        let servers = servers.iter().map(|&(host, port)| (host.to_owned(), port));
        let servers = servers.collect::<Vec<_>>();
        let mut hosts = Hosts::default();
        let is_foreign = |host: &str| !host.ends_with("shop.test");
        let addresses = addresses.iter().map(|address| address.parse::<SocketAddr>().unwrap());
        addresses.map(|address| hosts.of(address, &servers, is_foreign)).collect()
    }

    fn named(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| Some((*name).to_owned())).collect()
    }

    #[test]
    fn a_foreign_server_of_a_port_goes_before_an_own_one() {
        let servers = [("stun.shop.test", 3478), ("stun.other.test", 3478), ("turn.shop.test", 81)];
        let found = hosts(&servers, &["198.51.100.1:3478", "198.51.100.2:3478", "198.51.100.1:81"]);
        assert_eq!(found, named(&["stun.other.test", "stun.other.test", "turn.shop.test"]));
    }

    #[test]
    fn own_servers_have_no_more_addresses_than_were_named() {
        let addresses = [
            "198.51.100.1:3478",
            "198.51.100.2:3478",
            "198.51.100.1:3478",
            "[2001:db8::1]:3478",
            "[2001:db8::2]:3478",
        ];
        let own = "stun.shop.test";
        let found = hosts(&[(own, 3478), (own, 3478)], &addresses);
        assert_eq!(found, named(&[own, "198.51.100.2", own, own, "[2001:db8::2]"]));
        let two = [(own, 3478), ("turn.shop.test", 3478)];
        let found = hosts(&two, &["198.51.100.1:3478", "198.51.100.2:3478", "198.51.100.3:3478"]);
        assert_eq!(found, named(&[own, own, "198.51.100.3"]));
    }

    #[test]
    fn a_server_that_is_an_address_has_no_other_one() {
        let servers = [("198.51.100.9", 3478), ("stun.shop.test", 3478)];
        let found =
            hosts(&servers, &["198.51.100.1:3478", "198.51.100.9:3478", "198.51.100.2:3478"]);
        assert_eq!(found, named(&["stun.shop.test", "198.51.100.9", "198.51.100.2"]));
    }

    #[test]
    fn this_machine_counts_only_where_a_server_was_named() {
        let servers = [("stun.other.test", 3478)];
        let found = hosts(&servers, &["127.0.0.1:5000", "127.0.0.1:3478"]);
        assert_eq!(found, [None, Some("stun.other.test".to_owned())]);
    }
}
