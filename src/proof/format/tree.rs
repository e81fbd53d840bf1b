//! The right edge of a growing tree: sufficient for appending entries and computing the root.

use super::hashes::{self, Hash};
use super::tile::{FULL, TileId};

/// The right edge of a tree: for each level, the hashes of the incomplete tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    levels: Vec<Vec<Hash>>,
}

/// The number of hashes in the incomplete last tile of a level, in a tree of this size.
pub fn edge_width(size: u64, level: u8) -> usize {
    usize::from((size >> (8 * u32::from(level))).to_le_bytes()[0])
}

/// The ids of the non-empty tiles at a tree's right edge.
pub fn edge_tiles(size: u64) -> impl Iterator<Item = TileId> {
    let levels = 0..8;
    levels.filter(move |level| edge_width(size, *level) > 0).map(move |level| TileId {
        level,
        index: size.checked_shr(8 * (u32::from(level) + 1)).unwrap_or(0),
    })
}

impl Edge {
    /// The edge of a tree of this size, from the tiles of [`edge_tiles`], which may be longer than needed;
    /// `None` if a tile is missing or too short.
    pub fn of(size: u64, tile: impl Fn(TileId) -> Option<Vec<Hash>>) -> Option<Self> {
        let mut levels = Vec::new();
        for id in edge_tiles(size) {
            let mut hashes = tile(id)?;
            let width = edge_width(size, id.level);
            if hashes.len() < width {
                return None;
            }
            hashes.truncate(width);
            levels.resize(usize::from(id.level), Vec::new());
            levels.push(hashes);
        }
        Some(Self { size, levels })
    }

    /// The number of entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry by its hash, and returns the tiles that it completed.
    pub fn append(&mut self, leaf: Hash) -> Vec<(TileId, Vec<Hash>)> {
        let (mut full, mut hash) = (Vec::new(), leaf);
        self.size += 1;
        for level in 0.. {
            let at = usize::from(level);
            if self.levels.len() == at {
                self.levels.push(Vec::new());
            }
            self.levels[at].push(hash);
            if self.levels[at].len() < FULL {
                break;
            }
            let hashes = std::mem::take(&mut self.levels[at]);
            hash = hashes::complete(&hashes);
            let index = (self.size >> (8 * (u32::from(level) + 1))) - 1;
            full.push((TileId { level, index }, hashes));
        }
        full
    }

    /// The non-empty tiles at the edge.
    pub fn tiles(&self) -> impl Iterator<Item = (TileId, &[Hash])> {
        edge_tiles(self.size).map(|id| (id, self.levels[usize::from(id.level)].as_slice()))
    }

    pub fn root(&self) -> Hash {
        let mut root = None;
        for level in &self.levels {
            // Complete subtrees are adjacent, the smallest at the right.
            let mut end = level.len();
            for bit in (0..8).filter(|bit| level.len() >> bit & 1 == 1) {
                let begin = end - (1 << bit);
                let subtree = hashes::complete(&level[begin..end]);
                root = Some(root.map_or(subtree, |right| hashes::node(&subtree, &right)));
                end = begin;
            }
        }
        root.unwrap_or_else(hashes::empty)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn by_definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => hashes::empty(),
            [only] => *only,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                hashes::node(&by_definition(left), &by_definition(right))
            }
        }
    }

    fn root_of(entries: &[&str]) -> String {
        let mut edge = Edge::default();
        for entry in entries {
            edge.append(hashes::leaf(&hex::decode(entry).unwrap()));
        }
        hex::encode(edge.root())
    }

    #[test]
    fn trees_of_up_to_eight_entries_have_the_known_hashes() {
        let entries = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];
        let roots = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        for (size, root) in roots.iter().enumerate() {
            assert_eq!(root_of(&entries[..size]), *root, "{size} entries");
        }
    }

    #[test]
    fn a_tree_of_any_size_has_the_hash_of_the_definition_and_is_found_again_in_its_tiles() {
        let leaves = (0..66_000_u32).map(|number| hashes::leaf(&number.to_be_bytes()));
        let leaves = leaves.collect::<Vec<_>>();
        let (mut edge, mut tiles) = (Edge::default(), HashMap::new());
        let mut earlier = Vec::new();
        for (before, leaf) in leaves.iter().enumerate() {
            if [0, 1, 2, 3, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537].contains(&before) {
                assert_eq!(edge.root(), by_definition(&leaves[..before]), "{before} entries");
                earlier.push(edge.clone());
            }
            tiles.extend(edge.append(*leaf));
        }
        assert_eq!(edge.root(), by_definition(&leaves));
        tiles.extend(edge.tiles().map(|(id, hashes)| (id, hashes.to_vec())));
        for edge in earlier.into_iter().chain([edge]) {
            let found = Edge::of(edge.size(), |id| tiles.get(&id).cloned()).unwrap();
            assert_eq!((found.size(), found.root()), (edge.size(), edge.root()));
        }
        assert_eq!(Edge::of(66_001, |id| tiles.get(&id).cloned()), None);
    }
}
