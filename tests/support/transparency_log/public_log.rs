//! The public log, read over HTTP and checked with an implementation of the tests' own.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use sha2::{Digest, Sha256};

/// The setting that enables the log.
pub const LOG_KEY: (&str, &str) =
    ("LOG_KEY", "2b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfe");

/// Entries per bundle, and hashes per tile.
const FULL: usize = 256;

pub fn leaf(entry: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

/// The root of a tree as defined in RFC 6962, in base64.
pub fn root(leaves: &[[u8; 32]]) -> String {
    fn hash(leaves: &[[u8; 32]]) -> [u8; 32] {
        match leaves {
            [] => Sha256::digest([]).into(),
            [only] => *only,
            _ => {
                let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
                let node = Sha256::new().chain_update([1]).chain_update(hash(left));
                node.chain_update(hash(right)).finalize().into()
            }
        }
    }
    BASE64_STANDARD.encode(hash(leaves))
}

/// Index and `.p/` width of the last tile of a tree of this size.
pub fn address(number: usize, width: usize) -> String {
    assert!(number < 1_000, "three digits do");
    if width == FULL { format!("{number:03}") } else { format!("{number:03}.p/{width}") }
}

/// The checkpoint of the first log: size and root.
pub fn parse(note: &str) -> (usize, String) {
    parse_of("/log", note)
}

fn parse_of(path: &str, note: &str) -> (usize, String) {
    let lines = note.lines().collect::<Vec<_>>();
    assert!(lines.len() > 4, "{note}");
    assert_eq!((lines[0], lines[3]), (&*format!("localhost{path}"), ""), "{note}");
    (lines[1].parse().unwrap(), lines[2].to_owned())
}

/// Whether the note is signed by the key, and not by another key of the same name.
pub fn is_signed(note: &str, verifier_key: &str) -> bool {
    let (text, lines) = note.split_once("\n\n").unwrap();
    let mut parts = verifier_key.splitn(3, '+');
    let (name, id, key) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let start = format!("\u{2014} {name} ");
    let signature = lines.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
    let (signature, key) =
        (BASE64_STANDARD.decode(signature).unwrap(), BASE64_STANDARD.decode(key).unwrap());
    if hex::encode(&signature[..4]) != id {
        return false;
    }
    let key = UnparsedPublicKey::new(&ED25519, &key[1..]);
    key.verify(format!("{text}\n").as_bytes(), &signature[4..]).expect("a valid signature");
    true
}

/// The complete log.
pub struct PublicLog {
    pub note: String,
    pub entries: Vec<String>,
    pub leaves: Vec<[u8; 32]>,
}

impl PublicLog {
    /// Reads the complete log, and fails if its parts are inconsistent. `None` while nothing is signed by
    /// the node's key.
    pub async fn read(client: &reqwest::Client, base: &str) -> Option<Self> {
        Self::read_at(client, base, "/log").await
    }

    /// Like [`read`](Self::read), for the log at a path.
    pub async fn read_at(client: &reqwest::Client, base: &str, log: &str) -> Option<Self> {
        let get = async |path: String| {
            let answer = client.get(format!("{base}{path}")).send().await.unwrap();
            (answer.status().as_u16(), answer.bytes().await.unwrap())
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (status, note) = get(format!("{log}/checkpoint")).await;
        if status == 404 {
            return None;
        }
        let note = text(&note);
        let policy = text(&get("/log/policy".to_owned()).await.1);
        if !is_signed(&note, policy.split(' ').nth(1).unwrap()) {
            return None;
        }
        let (size, signed_root) = parse_of(log, &note);
        let (mut entries, mut leaves) = (Vec::new(), Vec::new());
        for number in 0..size.div_ceil(FULL) {
            let part = address(number, FULL.min(size - number * FULL));
            let (status, bundle) = get(format!("{log}/tile/entries/{part}")).await;
            assert_eq!(status, 200, "{part}");
            let mut rest = &bundle[..];
            let mut hashes = Vec::new();
            while !rest.is_empty() {
                let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
                hashes.push(leaf(&rest[2..2 + length]));
                entries.push(text(&rest[2..2 + length]));
                rest = &rest[2 + length..];
            }
            let (_, tile) = get(format!("{log}/tile/0/{part}")).await;
            assert_eq!(tile, hashes.concat(), "{part}");
            leaves.extend(hashes);
        }
        assert_eq!(entries.len(), size);
        assert_eq!(root(&leaves), signed_root);
        Some(Self { note, entries, leaves })
    }

    pub fn has(&self, kind: &str, sha256: &str) -> bool {
        let beginning = format!("assent/publication/v1\nkind {kind}\nsha256 {sha256}\nat ");
        self.entries.iter().any(|entry| entry.starts_with(&beginning))
    }

    /// The number of entries.
    pub fn size(&self) -> usize {
        self.leaves.len()
    }

    /// Fails unless this log extends the state in an earlier note.
    pub fn assert_extends(&self, note: &str) {
        let (size, signed_root) = parse(note);
        assert_eq!(root(&self.leaves[..size]), signed_root, "{size}");
    }
}

/// Every state of a service's logs that was ever served.
#[derive(Default)]
pub struct Served(Vec<(&'static str, PublicLog)>);

impl Served {
    /// Reads the state that a node serves now; keeps the longest log.
    pub async fn read(&mut self, client: &reqwest::Client, base: &str) -> usize {
        let mut longest = 0;
        for path in ["/log", "/log/2"] {
            if let Some(log) = PublicLog::read_at(client, base, path).await {
                longest = longest.max(log.size());
                self.0.push((path, log));
            }
        }
        longest
    }

    /// The longest log that was served at a path.
    pub fn longest(&self, path: &str) -> &PublicLog {
        let of_path = self.0.iter().filter(|(served, _)| *served == path);
        &of_path.max_by_key(|(_, log)| log.size()).expect("it was served").1
    }

    /// Fails if two states under one name are inconsistent.
    pub fn has_no_fork(&self) {
        for (path, log) in &self.0 {
            let longest = self.longest(path);
            assert_eq!(root(&longest.leaves[..log.size()]), root(&log.leaves), "a fork of {path}");
        }
    }
}

/// Inserts a number of publications, starting with a given number.
pub const PUBLISH_MANY: &str = "INSERT INTO publications (kind, sha256, published_at)
    SELECT 'script', sha256(number::text::bytea), '2026-01-01Z'
    FROM generate_series($1::int, $1 + $2 - 1) AS number";
