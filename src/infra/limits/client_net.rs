//! Networks of client addresses whose requests are counted together.

use std::net::IpAddr;

use ipnet::IpNet;
use sha2::{Digest, Sha256};

/// A network whose requests are counted together. Has no `Debug`: addresses are not logged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Net(IpNet);

impl Net {
    pub fn is_wide(self) -> bool {
        self.0.prefix_len() == 48
    }

    /// The SHA-256 of the network. It must be hashed again with other data before it is stored, because
    /// a hash of an address alone can be reversed by trying all addresses.
    pub fn digest(self) -> [u8; 32] {
        Sha256::digest(self.0.to_string()).into()
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
        let address = address.to_canonical();
        let net = |bits| Net(IpNet::new_assert(address, bits).trunc());
        match address {
            IpAddr::V4(_) => Self { near: net(32), wide: None },
            IpAddr::V6(_) => Self { near: net(64), wide: Some(net(48)) },
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
