//! The tree behind an entry of choices.
//!
//! It is made of groups of 256 places. The leaf of a choice is in a group that its own hash names, at a
//! place that is drawn by lot; on all other places are leaves of nothing, which look the same. So the
//! path of one leaf tells nothing of the others, and the number of groups hardly how many there are: up
//! to 256 choices of ten seconds have the same tree.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::hashes::{self, Hash};

/// The places of a group.
pub const PLACES: usize = 256;
/// So many choices a group has on average at most, where there are several. That one group is meant for
/// more than 256 of them is then as good as impossible.
const MEANT: usize = 160;

/// A leaf of a choice, and its place in the group.
pub type Placed = (u8, Hash);

/// The private tree of an epoch.
pub struct Epoch {
    /// What leaves of nothing are made of.
    pub seed: Hash,
    /// Those leaves of each group that were made of choices.
    pub groups: Vec<Vec<Placed>>,
    /// The hash of each group.
    pub tops: Vec<Hash>,
}

impl Epoch {
    /// Puts leaves into a tree of as few groups as they fit into.
    pub fn of(leaves: &[Hash]) -> Self {
        let mut random = rand::rng();
        let seed = random.random::<Hash>();
        let mut count = match leaves.len() {
            ..=PLACES => 1,
            more => more.div_ceil(MEANT).next_power_of_two(),
        };
        let groups = loop {
            match placed(leaves, count, &mut random) {
                Some(groups) => break groups,
                None => count *= 2,
            }
        };
        let numbered = groups.iter().enumerate();
        let top = |(number, group): (usize, &Vec<Placed>)| {
            hashes::complete(&all_of_group(&seed, number, group))
        };
        let tops = numbered.map(top).collect();
        Self { seed, groups, tops }
    }

    /// The hash of the whole tree.
    pub fn root(&self) -> Hash {
        hashes::complete(&self.tops)
    }
}

/// The leaves in so many groups; `None` when one does not hold its own.
fn placed(leaves: &[Hash], count: usize, random: &mut impl rand::Rng) -> Option<Vec<Vec<Placed>>> {
    let mut groups = vec![Vec::new(); count];
    for leaf in leaves {
        groups[group_of(leaf, count)].push(*leaf);
    }
    let mut places = (0..=u8::MAX).collect::<Vec<_>>();
    let groups = groups.into_iter().map(|leaves| {
        places.shuffle(random);
        let fits = leaves.len() <= PLACES;
        fits.then(|| places.iter().copied().zip(leaves).collect::<Vec<_>>())
    });
    groups.collect()
}

/// The group of a leaf in a tree of so many, a power of two.
pub fn group_of(leaf: &Hash, count: usize) -> usize {
    let [first, second, third, fourth, ..] = *leaf;
    u32::from_le_bytes([first, second, third, fourth]) as usize & (count - 1)
}

/// The hashes of all places of a group.
pub fn all_of_group(seed: &Hash, number: usize, leaves: &[Placed]) -> Vec<Hash> {
    let mut nothing = [0; 40];
    nothing[..32].copy_from_slice(seed);
    let first = number * PLACES;
    let mut all = vec![[0; 32]; PLACES];
    let mut is_taken = [false; PLACES];
    for (place, leaf) in leaves {
        all[usize::from(*place)] = *leaf;
        is_taken[usize::from(*place)] = true;
    }
    for place in (0..PLACES).filter(|place| !is_taken[*place]) {
        nothing[32..].copy_from_slice(&((first + place) as u64).to_be_bytes());
        all[place] = hashes::leaf(&nothing);
    }
    all
}

/// A leaf's way to the root of its tree.
#[derive(Debug, PartialEq, Eq)]
pub struct Way {
    pub index: u64,
    pub size: u64,
    /// From the leaf upwards.
    pub path: Vec<Hash>,
}

/// The way of a leaf, from its group and the hashes of all groups; `None` when it is not in the group.
pub fn way_of(leaf: &Hash, seed: &Hash, tops: &[Hash], group: &[Placed]) -> Option<Way> {
    let number = group_of(leaf, tops.len());
    let (place, _) = group.iter().find(|(_, placed)| placed == leaf)?;
    let mut path = path_in(&all_of_group(seed, number, group), usize::from(*place));
    path.extend(path_in(tops, number));
    let index = number * PLACES + usize::from(*place);
    Some(Way { index: index as u64, size: (tops.len() * PLACES) as u64, path })
}

/// The hashes beside the way from one of a power of two of hashes to the hash of them all.
fn path_in(hashes: &[Hash], index: usize) -> Vec<Hash> {
    let (mut level, mut index, mut path) = (hashes.to_vec(), index, Vec::new());
    while level.len() > 1 {
        path.push(level[index ^ 1]);
        level = level
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[left, right]| hashes::node(left, right))
            .collect();
        index /= 2;
    }
    path
}

/// A group as it is stored.
pub fn to_bytes(group: &[Placed]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(group.len() * 33);
    for (place, leaf) in group {
        bytes.push(*place);
        bytes.extend_from_slice(leaf);
    }
    bytes
}

/// A group as it was stored.
pub fn from_bytes(bytes: &[u8]) -> Vec<Placed> {
    let (placed, _) = bytes.as_chunks::<33>();
    let placed = placed.iter().map(|bytes| {
        let mut leaf = [0; 32];
        leaf.copy_from_slice(&bytes[1..]);
        (bytes[0], leaf)
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::format::path::root_of_inclusion;

    fn leaves(count: u32) -> Vec<Hash> {
        (0..count).map(|number| hashes::leaf(&number.to_be_bytes())).collect()
    }

    #[test]
    fn every_leaf_has_one_place_and_its_way_leads_to_the_root() {
        for count in [1, 2, 255, 256, 257, 3_000] {
            let leaves = leaves(count);
            let epoch = Epoch::of(&leaves);
            let mut indexes = Vec::new();
            for leaf in &leaves {
                let group = &epoch.groups[group_of(leaf, epoch.groups.len())];
                let group = from_bytes(&to_bytes(group));
                let way = way_of(leaf, &epoch.seed, &epoch.tops, &group).unwrap();
                let root = root_of_inclusion(*leaf, way.index, way.size, &way.path);
                assert_eq!(root, Some(epoch.root()), "{count}");
                indexes.push(way.index);
            }
            indexes.sort_unstable();
            indexes.dedup();
            assert_eq!(indexes.len(), leaves.len());
            let other = hashes::leaf(b"other");
            let group = &epoch.groups[group_of(&other, epoch.groups.len())];
            assert_eq!(way_of(&other, &epoch.seed, &epoch.tops, group), None);
        }
    }

    #[test]
    fn one_choice_and_256_have_trees_of_the_same_size_and_where_a_leaf_lies_is_drawn_by_lot() {
        let size = |count| Epoch::of(&leaves(count)).tops.len() * PLACES;
        assert_eq!([1, 2, 100, 256].map(size), [256; 4]);
        assert_eq!([257, 320].map(size), [512; 2]);
        assert_eq!([20_000, 20_480].map(size), [32_768; 2]);
        let lonely = leaves(1);
        let place = |_| Epoch::of(&lonely).groups[0][0].0;
        let places = (0..100).map(place).collect::<std::collections::BTreeSet<_>>();
        assert!(places.len() > 20 && places.iter().any(|place| *place > 128), "{places:?}");
    }

    #[test]
    fn leaves_of_nothing_are_others_in_each_epoch() {
        let lonely = leaves(1);
        let (one, other) = (Epoch::of(&lonely), Epoch::of(&lonely));
        let all = |epoch: &Epoch| all_of_group(&epoch.seed, 0, &epoch.groups[0]);
        let same =
            all(&one).into_iter().filter(|hash| all(&other).contains(hash)).collect::<Vec<_>>();
        assert_eq!(same, lonely);
    }
}
