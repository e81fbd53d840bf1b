//! Requests to witnesses for cosigning a checkpoint (c2sp.org/tlog-witness).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::hashes::Hash;

/// Maximum length of a consistency proof.
pub const MAX_PATH: usize = 63;
/// The content type of a witness's response that states the size it knows.
pub const SIZE_TYPE: &str = "text/x.tlog.size";

/// A checkpoint with the consistency proof from the one that the witness knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission<'b> {
    /// The size of the log that the witness knows.
    pub old: u64,
    pub path: Vec<Hash>,
    /// The signed note.
    pub checkpoint: &'b str,
}

impl<'b> Submission<'b> {
    /// Parses a submission; there is exactly one valid encoding.
    pub fn parse(body: &'b str) -> Option<Self> {
        let (head, checkpoint) = body.split_once("\n\n")?;
        let mut lines = head.split('\n');
        let old = parse_size(lines.next()?.strip_prefix("old ")?)?;
        let hash = |line: &str| BASE64_STANDARD.decode(line).ok()?.try_into().ok();
        let path = lines.map(hash).collect::<Option<Vec<_>>>()?;
        (path.len() <= MAX_PATH).then_some(Self { old, path, checkpoint })
    }
}

impl fmt::Display for Submission<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "old {}", self.old)?;
        for hash in &self.path {
            writeln!(formatter, "{}", BASE64_STANDARD.encode(hash))?;
        }
        write!(formatter, "\n{}", self.checkpoint)
    }
}

/// Parses a size; there is exactly one valid encoding.
pub fn parse_size(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|size: &u64| size.to_string() == digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "old 20852014\n\
        PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\
        jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n\
        5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=\n\
        /6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=\n\n\
        example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

    #[test]
    fn a_submission_is_read_as_it_is_written_and_in_no_other_spelling() {
        let read = Submission::parse(EXAMPLE).unwrap();
        assert_eq!((read.old, read.path.len()), (20_852_014, 4));
        assert!(read.checkpoint.starts_with("example.com/behind-the-sofa\n20852163\n"));
        assert_eq!(read.to_string(), EXAMPLE);
        let bare = Submission { old: 0, path: Vec::new(), checkpoint: "a\n" };
        assert_eq!(bare.to_string(), "old 0\n\na\n");
        assert_eq!(Submission::parse("old 0\n\na\n"), Some(bare));
        let hash = "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n";
        let long = format!("old 1\n{}\na\n", hash.repeat(MAX_PATH));
        assert!(Submission::parse(&long).is_some());
        let others = [
            String::new(),
            EXAMPLE.replace("old 2", "old 02"),
            EXAMPLE.replace("old 2", "old -2"),
            EXAMPLE.replace("old 2", "old  2"),
            EXAMPLE.replace("old 2", "size 2"),
            EXAMPLE.replace("old 20852014\n", ""),
            EXAMPLE.replace("kaw=\n", "kaw\n"),
            EXAMPLE.replace("kaw=\n", "kaw=\r\n"),
            EXAMPLE.replace("kaw=\n", "kaw= \n"),
            EXAMPLE.replace("old 20852014\n", "old 20852014\nAAAA\n"),
            format!("old 1\n{}\na\n", hash.repeat(MAX_PATH + 1)),
        ];
        for other in others {
            assert_eq!(Submission::parse(&other), None, "{other}");
        }
    }
}
