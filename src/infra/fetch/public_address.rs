use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;

/// Whether the address is globally reachable unicast according to IANA's special-purpose registries
/// (RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_unicast = GLOBAL.iter().any(|block| block.contains(&address));
    is_unicast && !SPECIAL.iter().any(|block| block.contains(&address))
}

static GLOBAL: LazyLock<[IpNet; 2]> = LazyLock::new(|| ["0.0.0.0/0", "2000::/3"].map(block));

/// Blocks inside [`GLOBAL`] that are not globally reachable.
static SPECIAL: LazyLock<[IpNet; 19]> = LazyLock::new(|| {
    let blocks = [
        "0.0.0.0/8",       // this network
        "10.0.0.0/8",      // private
        "100.64.0.0/10",   // carriers' NAT
        "127.0.0.0/8",     // loopback
        "169.254.0.0/16",  // link-local, clouds' metadata
        "172.16.0.0/12",   // private
        "192.0.0.0/24",    // protocol assignments
        "192.0.2.0/24",    // documentation
        "192.88.99.0/24",  // 6to4 relays
        "192.168.0.0/16",  // private
        "198.18.0.0/15",   // benchmarks
        "198.51.100.0/24", // documentation
        "203.0.113.0/24",  // documentation
        "224.0.0.0/4",     // multicast
        "240.0.0.0/4",     // reserved, broadcast
        "2001::/23",       // protocol assignments, Teredo
        "2001:db8::/32",   // documentation
        "2002::/16",       // 6to4: an IPv4 address of any kind
        "3fff::/20",       // documentation
    ];
    blocks.map(block)
});

fn block(text: &str) -> IpNet {
    text.parse().expect("every block is a network and a prefix length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_public_internet_are_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "2001:db9::1",
            "2003::1",
            "3ffe::1",
            "::ffff:1.1.1.1",
        ] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn every_other_address_is_not() {
        for address in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:0:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "64:ff9b:1::1",
            "100::1",
            "1fff:ffff::1",
            "2001::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:101:101::1",
            "3fff::1",
            "3fff:fff:ffff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:100.64.0.1",
        ] {
            assert!(!public(address), "{address}");
        }
    }
}
