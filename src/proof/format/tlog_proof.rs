//! Self-contained proofs that an entry is in a log, as text (c2sp.org/tlog-proof).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::hashes::Hash;

const VERSION: &str = "c2sp.org/tlog-proof@v1";

/// An entry's index, and its proof of inclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogProof {
    /// Additional data of the entry.
    pub extra: Option<Vec<u8>>,
    pub index: u64,
    pub path: Vec<Hash>,
    /// The signed note of the log's state.
    pub checkpoint: String,
}

impl TlogProof {
    /// Parses a proof; there is exactly one valid encoding.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, checkpoint) = text.split_once("\n\n")?;
        let mut lines = head.split('\n').peekable();
        if lines.next()? != VERSION {
            return None;
        }
        let extra = match lines.peek()?.strip_prefix("extra ") {
            Some(extra) => Some(BASE64_STANDARD.decode(extra).ok()?),
            None => None,
        };
        if extra.is_some() {
            lines.next();
        }
        let index = lines.next()?.strip_prefix("index ")?.parse().ok()?;
        let path = lines.map(|line| BASE64_STANDARD.decode(line).ok()?.try_into().ok());
        let path = path.collect::<Option<_>>()?;
        let proof = Self { extra, index, path, checkpoint: checkpoint.to_owned() };
        (proof.to_string() == text).then_some(proof)
    }
}

impl fmt::Display for TlogProof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{VERSION}")?;
        if let Some(extra) = &self.extra {
            writeln!(formatter, "extra {}", BASE64_STANDARD.encode(extra))?;
        }
        writeln!(formatter, "index {}", self.index)?;
        for hash in &self.path {
            writeln!(formatter, "{}", BASE64_STANDARD.encode(hash))?;
        }
        write!(formatter, "\n{}", self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_read_as_it_is_written_and_in_no_other_spelling() {
        let checkpoint = "log.example\n8\nAAAA\n\n\u{2014} log.example BBBB\n".to_owned();
        let hash = BASE64_STANDARD.encode([7; 32]);
        let proof =
            TlogProof { extra: Some(vec![1, 2]), index: 5, path: vec![[7; 32]; 2], checkpoint };
        let text = format!(
            "c2sp.org/tlog-proof@v1\nextra AQI=\nindex 5\n{hash}\n{hash}\n\n{}",
            proof.checkpoint
        );
        assert_eq!(proof.to_string(), text);
        assert_eq!(TlogProof::parse(&text), Some(proof.clone()));
        let bare = TlogProof { extra: None, path: Vec::new(), ..proof };
        assert_eq!(TlogProof::parse(&bare.to_string()), Some(bare));
        let others = [
            String::new(),
            text.replace("@v1", "@v2"),
            text.replace("AQI=", "AQJ="),
            text.replace("AQI=", "AQI"),
            text.replace("index 5", "index 05"),
            text.replace("index 5", "index -5"),
            text.replace("index 5\n", ""),
            text.replace(&hash, &BASE64_STANDARD.encode([7; 31])),
            text.replace("extra", "Extra"),
            text.replace("\n\n", "\n"),
        ];
        for other in others {
            assert_eq!(TlogProof::parse(&other), None, "{other}");
        }
    }
}
