//! Inclusion and consistency proofs (RFC 6962, sections 2.1.1 and 2.1.2; verified as in RFC 9162).

use std::ops::Range;

use super::hashes::{self, Hash};
use super::tile::{FULL, TileId};

/// Returns the hash of 2^level entries, starting at index × 2^level.
pub type Nodes<'n> = &'n dyn Fn(u32, u64) -> Option<Hash>;

/// The storage position of a complete subtree's hash: the hash itself, or several hashes of a tile.
pub fn tile_of(level: u32, index: u64) -> (TileId, Range<usize>) {
    let (above, wide) = (level / 8, level % 8);
    let (first, full) = (index << wide, FULL as u64);
    let begin = usize::try_from(first % full).unwrap_or_default();
    let level = u8::try_from(above).unwrap_or(u8::MAX);
    (TileId { level, index: first / full }, begin..begin + (1 << wide))
}

pub fn inclusion(index: u64, size: u64, node: Nodes<'_>) -> Option<Vec<Hash>> {
    let (mut path, mut begin, mut end) = (Vec::new(), 0, size);
    if index >= size {
        return None;
    }
    while end - begin > 1 {
        let middle = begin + split(end - begin);
        if index < middle {
            path.push(subtree(middle, end, node)?);
            end = middle;
        } else {
            path.push(subtree(begin, middle, node)?);
            begin = middle;
        }
    }
    path.reverse();
    Some(path)
}

/// The consistency proof between the trees of the old and the new size.
pub fn consistency(old: u64, new: u64, node: Nodes<'_>) -> Option<Vec<Hash>> {
    if old > new {
        return None;
    }
    let (mut path, mut begin, mut end) = (Vec::new(), 0, new);
    if old == 0 || old == new {
        return Some(path);
    }
    while end != old {
        let middle = begin + split(end - begin);
        if old <= middle {
            path.push(subtree(middle, end, node)?);
            end = middle;
        } else {
            path.push(subtree(begin, middle, node)?);
            begin = middle;
        }
    }
    if begin > 0 {
        path.push(subtree(begin, end, node)?);
    }
    path.reverse();
    Some(path)
}

/// The largest power of two below a number above one.
fn split(size: u64) -> u64 {
    size.next_power_of_two() / 2
}

fn subtree(begin: u64, end: u64, node: Nodes<'_>) -> Option<Hash> {
    let size = end - begin;
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return node(level, begin >> level);
    }
    let middle = begin + split(size);
    Some(hashes::node(&subtree(begin, middle, node)?, &subtree(middle, end, node)?))
}

/// The root of the tree of this size in which the leaf has this index and inclusion path; `None` if no tree
/// has such a path.
pub fn root_of_inclusion(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut at, mut last, mut root) = (index, size - 1, leaf);
    for beside in path {
        if last == 0 {
            return None;
        }
        if at % 2 == 1 || at == last {
            root = hashes::node(beside, &root);
            while at % 2 == 0 && at > 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            root = hashes::node(&root, beside);
        }
        (at, last) = (at / 2, last / 2);
    }
    (last == 0).then_some(root)
}

/// Whether the path proves that the new tree extends the old one. Each is given by size and root.
pub fn is_consistent(old: (u64, Hash), new: (u64, Hash), path: &[Hash]) -> bool {
    let ((old, old_root), (size, root)) = (old, new);
    if old == 0 || old == size {
        return path.is_empty() && (old == 0 || old_root == root);
    }
    if old > size {
        return false;
    }
    let first = old.is_power_of_two().then_some(old_root);
    let mut path = first.into_iter().chain(path.iter().copied());
    let Some(begin) = path.next() else { return false };
    let shift = (old - 1).trailing_ones();
    let (mut at, mut last) = ((old - 1) >> shift, (size - 1) >> shift);
    let (mut before, mut after) = (begin, begin);
    for beside in path {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            before = hashes::node(&beside, &before);
            after = hashes::node(&beside, &after);
            while at % 2 == 0 && at > 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            after = hashes::node(&after, &beside);
        }
        (at, last) = (at / 2, last / 2);
    }
    (before, after, last) == (old_root, root, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::format::tree::Edge;

    const SIZE: u64 = 300;

    fn leaves() -> Vec<Hash> {
        (0..SIZE).map(|number| hashes::leaf(&number.to_be_bytes())).collect()
    }

    fn root(leaves: &[Hash]) -> Hash {
        let mut edge = Edge::default();
        for leaf in leaves {
            edge.append(*leaf);
        }
        edge.root()
    }

    #[test]
    fn every_entry_of_every_tree_has_a_path_and_no_changed_path_leads_to_the_root() {
        let leaves = leaves();
        let node = |level: u32, index: u64| {
            let range = (index << level) as usize..((index + 1) << level) as usize;
            leaves.get(range).map(hashes::complete)
        };
        for size in (1..20).chain([255, 256, 257, SIZE]) {
            let root = root(&leaves[..size as usize]);
            for index in (0..size).filter(|index| size < 20 || index % 37 == 0) {
                let path = inclusion(index, size, &node).unwrap();
                let leaf = leaves[index as usize];
                let found = |index, size, path: &[Hash]| root_of_inclusion(leaf, index, size, path);
                assert_eq!(found(index, size, &path), Some(root), "{index} of {size}");
                assert_ne!(found(index ^ 1, size, &path), Some(root));
                if size > 1 {
                    assert_ne!(found(index, size, &path[1..]), Some(root));
                    let mut changed = path.clone();
                    changed[0][0] ^= 1;
                    assert_ne!(found(index, size, &changed), Some(root));
                }
                assert_ne!(found(index, size, &[path, vec![root]].concat()), Some(root));
            }
            assert_eq!(inclusion(size, size, &node), None);
        }
    }

    #[test]
    fn a_tree_is_consistent_with_each_smaller_one_and_with_no_other() {
        let leaves = leaves();
        let node = |level: u32, index: u64| {
            let range = (index << level) as usize..((index + 1) << level) as usize;
            leaves.get(range).map(hashes::complete)
        };
        let other = hashes::leaf(b"other");
        for new in (1..20).chain([255, 256, 257, SIZE]) {
            let root_of = |size: u64| root(&leaves[..size as usize]);
            for old in (0..=new).filter(|old| new < 20 || old % 29 == 0) {
                let path = consistency(old, new, &node).unwrap();
                let (before, after) = ((old, root_of(old)), (new, root_of(new)));
                assert!(is_consistent(before, after, &path), "{old} to {new}");
                if old > 0 {
                    assert!(!is_consistent((old, other), after, &path), "{old} to {new}");
                    assert!(!is_consistent(before, (new, other), &path), "{old} to {new}");
                    assert!(!is_consistent(before, after, &[&path[..], &[other]].concat()));
                }
            }
            assert_eq!(consistency(new + 1, new, &node), None);
        }
    }
}
