//! Ids of tiles, and their paths (c2sp.org/tlog-tiles).

use std::fmt;

/// Hashes of a full tile, and entries of a full bundle.
pub const FULL: usize = 256;

/// Exclusive limit: 256 times as many entries would not fit into 64 bits.
const MAX_INDEX: u64 = 1 << 56;

/// A tile of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileId {
    /// Level 0 contains the hashes of the entries.
    pub level: u8,
    pub index: u64,
}

/// The index of a tile in its level and its width, as in a path: `x001/x234/067`, with `.p/8` appended for
/// the first eight hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub index: u64,
    /// 1 to 256.
    pub width: usize,
}

impl Address {
    /// Parses a path; every tile has exactly one valid spelling.
    pub fn parse(path: &str) -> Option<Self> {
        let (number, width) = match path.split_once(".p/") {
            Some((number, width)) => (number, width.parse().ok()?),
            None => (path, FULL),
        };
        let digits = number.replace(['x', '/'], "");
        let index = digits.parse().ok().filter(|index| *index < MAX_INDEX)?;
        let address = Self { index, width };
        ((1..=FULL).contains(&width) && address.to_string() == path).then_some(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = format!("{:03}", self.index % 1_000);
        let mut rest = self.index / 1_000;
        while rest > 0 {
            number = format!("x{:03}/{number}", rest % 1_000);
            rest /= 1_000;
        }
        formatter.write_str(&number)?;
        match self.width {
            FULL => Ok(()),
            width => write!(formatter, ".p/{width}"),
        }
    }
}

pub fn parse_level(text: &str) -> Option<u8> {
    text.parse().ok().filter(|level: &u8| *level < 64 && level.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let written = [
            (0, FULL, "000"),
            (67, FULL, "067"),
            (999, 1, "999.p/1"),
            (1_000, FULL, "x001/000"),
            (1_234_067, FULL, "x001/x234/067"),
            (1_234_067, 8, "x001/x234/067.p/8"),
            (256, 255, "256.p/255"),
        ];
        for (index, width, text) in written {
            let address = Address { index, width };
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::parse(text), Some(address));
        }
    }

    #[test]
    fn a_tile_has_no_second_address() {
        let others = [
            "",
            "0",
            "00",
            "0000",
            "x000/000",
            "x000/001",
            "001/000",
            "x001/x000",
            "x01/000",
            "x001000",
            "000/",
            "/000",
            "x001//000",
            "000.p/0",
            "000.p/256",
            "000.p/257",
            "000.p/08",
            "000.p/+8",
            "000.p/",
            "000.p",
            "000.p/8/",
            "000.p/8.p/8",
            "+00",
            "-01",
            "x999/x999/x999/x999/x999/x999/x999/999",
        ];
        for other in others {
            assert_eq!(Address::parse(other), None, "{other}");
        }
    }

    #[test]
    fn levels_are_plain_numbers_below_64() {
        assert_eq!(["0", "7", "63"].map(parse_level), [Some(0), Some(7), Some(63)]);
        assert_eq!(["64", "00", "+1", "-1", "", "entries"].map(parse_level), [None; 6]);
    }
}
