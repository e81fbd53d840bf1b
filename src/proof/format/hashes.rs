//! Merkle tree hashes (RFC 6962, section 2.1).

use ring::digest::{Context, SHA256, digest};

/// A SHA-256.
pub type Hash = [u8; 32];

pub fn empty() -> Hash {
    fixed(digest(&SHA256, b""))
}

pub fn leaf(entry: &[u8]) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&[0]);
    context.update(entry);
    fixed(context.finish())
}

/// The hash of two adjacent subtrees.
pub fn node(left: &Hash, right: &Hash) -> Hash {
    let mut both = [1; 65];
    both[1..33].copy_from_slice(left);
    both[33..].copy_from_slice(right);
    fixed(digest(&SHA256, &both))
}

/// The hash of a complete tree of subtrees of equal size; their number is a power of two.
pub fn complete(subtrees: &[Hash]) -> Hash {
    match subtrees {
        [only] => *only,
        _ => {
            let (left, right) = subtrees.split_at(subtrees.len() / 2);
            node(&complete(left), &complete(right))
        }
    }
}

fn fixed(digest: ring::digest::Digest) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.as_ref());
    hash
}
