//! The Merkle tree behind an entry of choices. It consists of groups of 256 positions. The hash of a choice's
//! leaf determines its group; its position there is random. All other positions hold dummy leaves, which look
//! the same. So the path of a leaf reveals nothing about the others, and the number of groups reveals hardly
//! anything about their number: up to 256 choices in ten seconds have trees of the same shape.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::hashes::{self, Hash};

/// Positions of a group.
pub const PLACES: usize = 256;
/// Maximum average number of choices per group, if there are several groups. An overflow of a group's 256
/// positions is then practically impossible.
const MEANT: usize = 160;

/// A leaf of a choice, and its position in the group.
pub type Placed = (u8, Hash);

/// The private tree of an epoch, the interval that one entry covers.
pub struct Epoch {
    /// The seed of the dummy leaves.
    pub seed: Hash,
    /// The leaves of each group that belong to choices.
    pub groups: Vec<Vec<Placed>>,
    pub tops: Vec<Hash>,
}

impl Epoch {
    /// Builds the tree with the fewest groups that hold the leaves.
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

    pub fn root(&self) -> Hash {
        hashes::complete(&self.tops)
    }
}

/// Distributes the leaves over this number of groups; `None` if a group overflows.
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

/// The group of a leaf among this number of groups, a power of two.
pub fn group_of(leaf: &Hash, count: usize) -> usize {
    let [first, second, third, fourth, ..] = *leaf;
    u32::from_le_bytes([first, second, third, fourth]) as usize & (count - 1)
}

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

/// The inclusion path of a leaf.
#[derive(Debug, PartialEq, Eq)]
pub struct Way {
    pub index: u64,
    pub size: u64,
    /// From the leaf upwards.
    pub path: Vec<Hash>,
}

/// The inclusion path of a leaf, from its group and the hashes of all groups; `None` if it is not in the
/// group.
pub fn way_of(leaf: &Hash, seed: &Hash, tops: &[Hash], group: &[Placed]) -> Option<Way> {
    let number = group_of(leaf, tops.len());
    let (place, _) = group.iter().find(|(_, placed)| placed == leaf)?;
    let mut path = path_in(&all_of_group(seed, number, group), usize::from(*place));
    path.extend(path_in(tops, number));
    let index = number * PLACES + usize::from(*place);
    Some(Way { index: index as u64, size: (tops.len() * PLACES) as u64, path })
}

/// The inclusion path of a hash in a complete tree; the number of hashes is a power of two.
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

pub fn to_bytes(group: &[Placed]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(group.len() * 33);
    for (place, leaf) in group {
        bytes.push(*place);
        bytes.extend_from_slice(leaf);
    }
    bytes
}

/// Deserialises a stored group.
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
