//! Networks of client addresses whose requests are counted together.

use std::net::{IpAddr, Ipv6Addr};

use sha2::{Digest, Sha256};

/// The first address and prefix length of a network. No `Debug`: addresses are not logged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Net {
    first: IpAddr,
    bits: u8,
}

impl Net {
    pub fn is_wide(self) -> bool {
        self.bits == 48
    }

    /// A SHA-256 that is hashed again with the limit's name. A hash of an address alone can be
    /// reversed by trying all.
    pub fn digest(self) -> [u8; 32] {
        Sha256::digest(format!("{}/{}", self.first, self.bits)).into()
    }

    fn of_v6(address: Ipv6Addr, bits: u8) -> Self {
        Self { first: IpAddr::V6((address.to_bits() & (u128::MAX << (128 - bits))).into()), bits }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNet {
    near: Net,
    /// The larger network around it, for IPv6 only.
    wide: Option<Net>,
}

impl ClientNet {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => Self { near: Net::of_v6(v6, 64), wide: Some(Net::of_v6(v6, 48)) },
            v4 => Self { near: Net { first: v4, bits: 32 }, wide: None },
        }
    }

    pub fn nets(self) -> impl Iterator<Item = Net> {
        std::iter::once(self.near).chain(self.wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(address: &str) -> ClientNet {
        ClientNet::of(address.parse().unwrap())
    }

    #[test]
    fn a_network_of_64_bits_is_one_client_and_a_mapped_address_is_the_one_it_maps() {
        assert!(net("2001:db8:1:2::1") == net("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert!(net("2001:db8:1:2::1").near != net("2001:db8:1:3::1").near);
        assert!(net("::ffff:192.0.2.1") == net("192.0.2.1"));
        assert!(net("192.0.2.1") != net("192.0.2.2"));
    }
}
