//! Checkpoints, the signed state of a log: its origin, size and root hash (c2sp.org/tlog-checkpoint).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::hashes::Hash;

/// The state of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name: its address without the scheme.
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

impl Checkpoint {
    /// Parses a checkpoint, which has exactly three lines.
    pub fn parse(text: &str) -> Option<Self> {
        let lines = text.strip_suffix('\n')?.split('\n').collect::<Vec<_>>();
        let [origin, size, root] = lines[..] else { return None };
        let checkpoint = Self {
            origin: origin.to_owned(),
            size: size.parse().ok()?,
            root: BASE64_STANDARD.decode(root).ok()?.try_into().ok()?,
        };
        (!origin.is_empty() && checkpoint.to_string() == text).then_some(checkpoint)
    }

    /// Like [`parse`](Self::parse), for other logs' checkpoints, which may have extension lines.
    pub fn parse_extended(text: &str) -> Option<Self> {
        let (end, _) = text.match_indices('\n').nth(2)?;
        let (checkpoint, more) = text.split_at(end + 1);
        let is_plain = more.is_empty() || more.ends_with('\n') && !more.starts_with('\n');
        Self::parse(checkpoint).filter(|_| is_plain && !more.contains("\n\n"))
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = BASE64_STANDARD.encode(self.root);
        write!(formatter, "{}\n{}\n{root}\n", self.origin, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_three_lines() {
        let text =
            "consent.example.com/log\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        let checkpoint = Checkpoint::parse(text).unwrap();
        assert_eq!(
            (checkpoint.origin.as_str(), checkpoint.size),
            ("consent.example.com/log", 20_852_163)
        );
        assert_eq!(checkpoint.to_string(), text);
        let others = [
            "",
            "\n",
            "a\n1\n",
            &text[..text.len() - 1],
            &format!("{text}extension\n"),
            &text.replace("2085", "02085"),
            &text.replace("2085", "-2085"),
            &text.replace("consent.example.com/log", ""),
            &text.replace("I=\n", "I\n"),
            &text.replace("CsUY", "CsU"),
        ];
        for other in others {
            assert_eq!(Checkpoint::parse(other), None, "{other}");
        }
        let extended = |more: &str| Checkpoint::parse_extended(&format!("{text}{more}"));
        assert_eq!(extended(""), Some(checkpoint.clone()));
        assert_eq!(extended("one\ntwo\n"), Some(checkpoint));
        assert_eq!(["one", "\n", "one\n\n", "\none\n"].map(extended), [None, None, None, None]);
        assert_eq!(Checkpoint::parse_extended("a\n1\n"), None);
    }
}
