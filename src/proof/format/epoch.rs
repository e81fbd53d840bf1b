//! The Merkle tree behind an entry of choices. It consists of groups of 256 positions. The hash of a choice's
//! leaf determines its group; its position there is random. All other positions hold dummy leaves, which look
//! the same. So the path of a leaf reveals nothing about the others, and the number of groups reveals hardly
//! anything about their number: up to 256 choices of an interval have trees of the same shape.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::hashes::{self, Hash};

/// Positions of a group.
pub const GROUP_SIZE: usize = 256;
/// Maximum average number of choices per group, if there are several groups. An overflow of a group's 256
/// positions is then practically impossible.
const MEANT: usize = 160;

/// A leaf of a choice, and its position in the group.
pub type PositionedLeaf = (u8, Hash);

/// The private tree of an epoch, the interval that one entry covers.
pub struct Epoch {
    /// The seed of the dummy leaves.
    pub seed: Hash,
    /// The leaves of each group that belong to choices.
    pub groups: Vec<Vec<PositionedLeaf>>,
}

impl Epoch {
    /// Distributes the leaves over the fewest groups that hold them.
    pub fn of(leaves: &[Hash]) -> Self {
        let mut random = rand::rng();
        let seed = random.random::<Hash>();
        let mut count = match leaves.len() {
            ..=GROUP_SIZE => 1,
            more => more.div_ceil(MEANT).next_power_of_two(),
        };
        let groups = loop {
            match distribute(leaves, count, &mut random) {
                Some(groups) => break groups,
                None => count *= 2,
            }
        };
        Self { seed, groups }
    }

    /// The root of each group. Their [`hashes::complete`] is the root of the tree.
    pub fn tops(&self) -> Vec<Hash> {
        let numbered = self.groups.iter().enumerate();
        let top = |(number, group): (usize, &Vec<PositionedLeaf>)| {
            hashes::complete(&all_of_group(&self.seed, number, group))
        };
        numbered.map(top).collect()
    }
}

/// Distributes the leaves over this number of groups; `None` if a group overflows.
fn distribute(
    leaves: &[Hash],
    count: usize,
    random: &mut impl rand::Rng,
) -> Option<Vec<Vec<PositionedLeaf>>> {
    let mut groups = vec![Vec::new(); count];
    for leaf in leaves {
        groups[group_of(leaf, count)].push(*leaf);
    }
    let mut positions = (0..=u8::MAX).collect::<Vec<_>>();
    let groups = groups.into_iter().map(|leaves| {
        positions.shuffle(random);
        let fits = leaves.len() <= GROUP_SIZE;
        fits.then(|| positions.iter().copied().zip(leaves).collect::<Vec<_>>())
    });
    groups.collect()
}

/// The group of a leaf among this number of groups, a power of two.
pub fn group_of(leaf: &Hash, count: usize) -> usize {
    let [first, second, third, fourth, ..] = *leaf;
    u32::from_le_bytes([first, second, third, fourth]) as usize & (count - 1)
}

pub fn all_of_group(seed: &Hash, number: usize, leaves: &[PositionedLeaf]) -> Vec<Hash> {
    let mut nothing = [0; 40];
    nothing[..32].copy_from_slice(seed);
    let first = number * GROUP_SIZE;
    let mut all = vec![[0; 32]; GROUP_SIZE];
    let mut is_taken = [false; GROUP_SIZE];
    for (position, leaf) in leaves {
        all[usize::from(*position)] = *leaf;
        is_taken[usize::from(*position)] = true;
    }
    for position in (0..GROUP_SIZE).filter(|position| !is_taken[*position]) {
        nothing[32..].copy_from_slice(&((first + position) as u64).to_be_bytes());
        all[position] = hashes::leaf(&nothing);
    }
    all
}

/// The inclusion path of a leaf.
#[derive(Debug, PartialEq, Eq)]
pub struct InclusionPath {
    pub index: u64,
    pub size: u64,
    /// From the leaf upwards.
    pub path: Vec<Hash>,
}

/// The inclusion path of a leaf, from its group and the hashes of all groups; `None` if it is not in the
/// group.
pub fn inclusion_path(
    leaf: &Hash,
    seed: &Hash,
    tops: &[Hash],
    group: &[PositionedLeaf],
) -> Option<InclusionPath> {
    let number = group_of(leaf, tops.len());
    let (position, _) = group.iter().find(|(_, found)| found == leaf)?;
    let mut path = path_in(&all_of_group(seed, number, group), usize::from(*position));
    path.extend(path_in(tops, number));
    let index = number * GROUP_SIZE + usize::from(*position);
    Some(InclusionPath { index: index as u64, size: (tops.len() * GROUP_SIZE) as u64, path })
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

pub fn to_bytes(group: &[PositionedLeaf]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(group.len() * 33);
    for (position, leaf) in group {
        bytes.push(*position);
        bytes.extend_from_slice(leaf);
    }
    bytes
}

/// Deserialises a stored group.
pub fn from_bytes(bytes: &[u8]) -> Vec<PositionedLeaf> {
    let (stored, _) = bytes.as_chunks::<33>();
    let leaves = stored.iter().map(|bytes| {
        let mut leaf = [0; 32];
        leaf.copy_from_slice(&bytes[1..]);
        (bytes[0], leaf)
    });
    leaves.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::format::path::root_of_inclusion;

    fn leaves(count: u32) -> Vec<Hash> {
        (0..count).map(|number| hashes::leaf(&number.to_be_bytes())).collect()
    }

    #[test]
    fn every_leaf_has_one_position_and_its_way_leads_to_the_root() {
        for count in [1, 2, 255, 256, 257, 3_000] {
            let leaves = leaves(count);
            let epoch = Epoch::of(&leaves);
            let (tops, mut indexes) = (epoch.tops(), Vec::new());
            for leaf in &leaves {
                let group = &epoch.groups[group_of(leaf, epoch.groups.len())];
                let group = from_bytes(&to_bytes(group));
                let way = inclusion_path(leaf, &epoch.seed, &tops, &group).unwrap();
                let root = root_of_inclusion(*leaf, way.index, way.size, &way.path);
                assert_eq!(root, Some(hashes::complete(&tops)), "{count}");
                indexes.push(way.index);
            }
            indexes.sort_unstable();
            indexes.dedup();
            assert_eq!(indexes.len(), leaves.len());
            let other = hashes::leaf(b"other");
            let group = &epoch.groups[group_of(&other, epoch.groups.len())];
            assert_eq!(inclusion_path(&other, &epoch.seed, &tops, group), None);
        }
    }

    #[test]
    fn one_choice_and_256_have_trees_of_the_same_size_and_where_a_leaf_lies_is_drawn_by_lot() {
        let size = |count| Epoch::of(&leaves(count)).groups.len() * GROUP_SIZE;
        assert_eq!([1, 2, 100, 256].map(size), [256; 4]);
        assert_eq!([257, 320].map(size), [512; 2]);
        assert_eq!([20_000, 20_480].map(size), [32_768; 2]);
        let lonely = leaves(1);
        let position = |_| Epoch::of(&lonely).groups[0][0].0;
        let positions = (0..100).map(position).collect::<std::collections::BTreeSet<_>>();
        assert!(
            positions.len() > 20 && positions.iter().any(|position| *position > 128),
            "{positions:?}"
        );
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
