//! Ports for programs that are given a fixed one before they start.

use std::net::{IpAddr, TcpListener};

/// Ports below the range from which Linux chooses for outgoing connections and for `bind` with port 0
/// (`net.ipv4.ip_local_port_range`, 32768 and above). A port of that range may be taken by another test
/// between this function and the start of the program.
const FIRST: u16 = 12_000;
const AFTER_LAST: u16 = 32_000;

/// A free port of an address; `None` where the machine does not have the address.
pub fn free_port_of(address: &str) -> Option<u16> {
    let address = address.parse::<IpAddr>().expect("an IP address");
    TcpListener::bind((address, 0)).ok()?;
    let candidates = std::iter::repeat_with(|| rand::random_range(FIRST..AFTER_LAST));
    candidates.take(1_000).find(|port| TcpListener::bind((address, *port)).is_ok())
}

/// A free port of 127.0.0.1.
pub fn free_port() -> u16 {
    free_port_of("127.0.0.1").expect("one of many ports is free")
}
