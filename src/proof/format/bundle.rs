//! Bundles of up to 256 entries as served, each with a length prefix (c2sp.org/tlog-tiles).

/// Adds an entry to a bundle. An entry has at most 65,535 bytes; ours have about a hundred.
pub fn push(bundle: &mut Vec<u8>, entry: &str) {
    let length = u16::try_from(entry.len()).expect("entries of the log are short");
    bundle.extend_from_slice(&length.to_be_bytes());
    bundle.extend_from_slice(entry.as_bytes());
}

/// The bytes of a bundle's first entries; `None` if it has fewer.
pub fn first(bundle: &[u8], entries: usize) -> Option<&[u8]> {
    let mut end = 0;
    for _ in 0..entries {
        let length = bundle.get(end..end + 2)?.try_into().ok()?;
        end += 2 + usize::from(u16::from_be_bytes(length));
    }
    bundle.get(..end)
}

/// An entry of a bundle by number; `None` if it has fewer.
pub fn nth(bundle: &[u8], number: usize) -> Option<&[u8]> {
    let (begin, end) = (first(bundle, number)?.len(), first(bundle, number + 1)?.len());
    bundle.get(begin + 2..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entries_of_a_bundle_are_its_beginning() {
        let mut bundle = Vec::new();
        push(&mut bundle, "a\n");
        push(&mut bundle, &"b".repeat(300));
        assert_eq!(&bundle[..6], b"\x00\x02a\n\x01\x2c");
        assert_eq!(first(&bundle, 0), Some(&b""[..]));
        assert_eq!(first(&bundle, 1), Some(&b"\x00\x02a\n"[..]));
        assert_eq!(first(&bundle, 2), Some(&bundle[..]));
        assert_eq!(first(&bundle, 3), None);
        assert_eq!(nth(&bundle, 0), Some(&b"a\n"[..]));
        assert_eq!(nth(&bundle, 1), Some(&bundle[6..]));
        assert_eq!(nth(&bundle, 2), None);
        assert_eq!(first(&bundle[..bundle.len() - 1], 2), None);
    }
}
