//! Names for the addresses to which WebRTC sent.

use std::net::{IpAddr, SocketAddr};

use nix::ifaddrs::getifaddrs;

/// The host of an address by the servers that pages named; the address itself if none fits. `None` for this
/// machine's own addresses, to which two connections of one page speak, unless a server was named.
pub fn host(address: SocketAddr, servers: &[(String, u16)]) -> Option<String> {
    let text = match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let by_port = || servers.iter().find(|(_, port)| *port == address.port());
    let by_address = servers.iter().find(|(host, _)| *host == text);
    let found = by_address.or_else(by_port).map(|(host, _)| host.clone());
    found.or_else(|| (!is_own(address.ip())).then_some(text))
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
