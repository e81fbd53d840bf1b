//! Proof files, judged by rules of the tests' own.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::log::{PublicLog, leaf, parse};
use crate::support::server::{Answer, App};
use crate::support::story::Site;
use crate::support::visitors::with;

/// Where a choice is in the log: the number of its entry, and its position behind it.
pub type Position = (usize, u64);

/// A proof file that somebody was given.
pub struct Proof {
    pub text: String,
    pub json: Value,
}

impl Proof {
    pub fn of(answer: &Answer) -> Self {
        Self { json: answer.expect(200), text: answer.text.clone() }
    }

    /// The lines of the proof that the choice is in the log.
    fn lines(&self) -> Vec<&str> {
        self.json["choices"]["tlog_proof"].as_str().unwrap().split('\n').collect()
    }

    fn extra(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(self.lines()[1].strip_prefix("extra ").unwrap()).unwrap()
    }

    /// The positions of the tree in which the choice is.
    pub fn size(&self) -> u64 {
        u64::from_be_bytes(self.extra()[40..48].try_into().unwrap())
    }

    /// The signed note to which it leads.
    pub fn checkpoint(&self) -> String {
        self.json["choices"]["tlog_proof"]
            .as_str()
            .unwrap()
            .split_once("\n\n")
            .unwrap()
            .1
            .to_owned()
    }

    /// All of the log, as soon as the state to which the proof leads is served: an earlier one may be for
    /// a second.
    pub async fn log(&self, client: &reqwest::Client, base: &str) -> PublicLog {
        for _ in 0..150 {
            let log = PublicLog::read(client, base).await.expect("there is a log");
            if log.entries.len() >= parse(&self.checkpoint()).0 {
                return log;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        panic!("the log stays behind the proof");
    }

    /// Finds the choice in all of the log, by the formats as the reference tells them.
    pub fn position(&self, log: &PublicLog) -> Position {
        let (extra, lines) = (self.extra(), self.lines());
        let (salt, numbers, path) = (&extra[..32], &extra[32..48], &extra[48..]);
        assert_eq!(hex::encode(salt), self.json["salt"]);
        let index = u64::from_be_bytes(numbers[..8].try_into().unwrap());
        let statement = serde_json_canonicalizer::to_vec(&self.json["statement"]).unwrap();
        let mut root = leaf(&[salt, &statement].concat());
        assert_eq!(1 << (path.len() / 32), self.size());
        for (level, beside) in path.chunks(32).enumerate() {
            let (left, right): (&[u8], &[u8]) =
                if index >> level & 1 == 1 { (beside, &root) } else { (&root, beside) };
            root = Sha256::new()
                .chain_update([1])
                .chain_update(left)
                .chain_update(right)
                .finalize()
                .into();
        }
        let entry = self.json["choices"]["entry"].as_str().unwrap();
        let expected = format!("assent/choices/v1\nroot {}\nat ", BASE64_STANDARD.encode(root));
        assert!(entry.starts_with(&expected) && entry.ends_with("Z\n"), "{entry}");
        let number = lines[2].strip_prefix("index ").unwrap().parse().unwrap();
        assert_eq!(log.entries[number], entry);
        log.assert_extends(&self.checkpoint());
        assert!(parse(&self.checkpoint()).0 > number);
        (number, index)
    }
}

impl App {
    /// A proof, or why there is none.
    pub async fn ask_for_proof(&self, site: &Site, visitor: &str) -> Answer {
        let pixel = &site.pixel_id;
        self.get(&format!("/v1/consent/proof?pixel_id={pixel}&visitor_id={visitor}")).await
    }

    /// The proof of a visitor's latest choice, as soon as there is one.
    pub async fn proof(&self, site: &Site, visitor: &str) -> Proof {
        for _ in 0..150 {
            let answer = self.ask_for_proof(site, visitor).await;
            if answer.status == 200 {
                return Proof::of(&answer);
            }
            answer.refused(409, "not sealed yet");
            self.clock.advance(chrono::Duration::seconds(10));
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        panic!("there never is a proof");
    }

    /// A choice whose tag says what it showed.
    pub async fn recorded_as_shown(&self, site: &Site, visitor: &str, language: &str) -> Value {
        let build = sqlx::query_scalar::<_, String>("SELECT build FROM script_builds");
        let build = build.fetch_one(&self.pool).await.unwrap();
        let shown = json!({"language": language, "script": build});
        self.recorded(&with(&site.acceptance(visitor), "shown", shown)).await
    }

    /// Keeps all nodes from adding to the log for as long as the connection is held.
    pub async fn hold_the_log(&self) -> PgConnection {
        let mut held = self.pool.acquire().await.unwrap().detach();
        sqlx::query("SELECT pg_advisory_lock($1)")
            .bind(0x0a55_e117_106a_i64)
            .execute(&mut held)
            .await
            .unwrap();
        held
    }
}
