//! Trust policies: the trusted logs, and the witnesses required (c2sp.org/tlog-policy).

use std::fmt;

use super::cosignature::Cosigner;
use super::key::Key;
use super::note::Verifier;

/// Requires no witness.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("line {0} of the policy cannot be read")]
    Line(usize),
    #[error("the policy names no log")]
    NoLog,
    #[error("the policy has no line that begins with quorum")]
    NoQuorum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub name: String,
    /// Its verifier key, verbatim.
    pub key: String,
    /// The key for verifying its cosignatures; `None` for an unsupported signature type.
    pub cosigner: Option<Cosigner>,
    /// The address to which checkpoints are submitted.
    pub url: Option<String>,
}

/// A group of which a minimum number suffices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    name: String,
    needed: usize,
    members: Vec<String>,
}

/// The trusted logs and witnesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustPolicy {
    pub logs: Vec<Verifier>,
    pub witnesses: Vec<Witness>,
    groups: Vec<Group>,
    /// The witness or group whose cosignature is required.
    quorum: Option<String>,
}

impl TrustPolicy {
    /// A policy that trusts a log without witnesses.
    pub fn of_log(log: Verifier) -> Self {
        Self { logs: vec![log], ..Self::default() }
    }

    pub fn for_log(&self, log: Verifier) -> Self {
        Self { logs: vec![log], ..self.clone() }
    }

    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let (mut policy, mut has_quorum) = (Self::default(), false);
        for (number, line) in (1..).zip(text.lines()) {
            let words = line.split_ascii_whitespace().collect::<Vec<_>>();
            let read = match words[..] {
                [] => Some(()),
                [word, ..] if word.starts_with('#') => Some(()),
                ["log", key] | ["log", key, _] => policy.add_log(key),
                ["witness", name, key] => policy.add_witness(name, key, None),
                ["witness", name, key, url] => policy.add_witness(name, key, Some(url)),
                ["group", name, needed, ref members @ ..] => {
                    policy.add_group(name, needed, members)
                }
                ["quorum", name] if !has_quorum => {
                    has_quorum = true;
                    policy.set_quorum(name)
                }
                _ => None,
            };
            read.ok_or(PolicyError::Line(number))?;
        }
        if has_quorum { Ok(policy) } else { Err(PolicyError::NoQuorum) }
    }

    /// Like [`parse`](Self::parse), for a policy that must name a log to trust.
    pub fn trusting(text: &str) -> Result<Self, PolicyError> {
        let policy = Self::parse(text)?;
        if policy.logs.is_empty() { Err(PolicyError::NoLog) } else { Ok(policy) }
    }

    fn add_log(&mut self, key: &str) -> Option<()> {
        let log = Verifier::parse(key)?;
        let is_new = self.logs.iter().all(|known| known.public() != log.public());
        is_new.then(|| self.logs.push(log))
    }

    fn add_witness(&mut self, name: &str, key: &str, url: Option<&str>) -> Option<()> {
        let cosigner = Cosigner::parse(key);
        let is_key = cosigner.is_some() || Key::is_unknown(key);
        let is_known = self.witnesses.iter().any(|known| {
            let same = known.cosigner.as_ref().zip(cosigner.as_ref());
            known.key == key || same.is_some_and(|(one, other)| one.public() == other.public())
        });
        let (name, key, url) = (name.to_owned(), key.to_owned(), url.map(str::to_owned));
        (is_key && !is_known && self.is_free(&name))
            .then(|| self.witnesses.push(Witness { name, key, cosigner, url }))
    }

    fn add_group(&mut self, name: &str, needed: &str, members: &[&str]) -> Option<()> {
        let needed = match needed {
            "all" => members.len(),
            "any" => 1,
            number => number.parse().ok().filter(|needed: &usize| needed.to_string() == number)?,
        };
        let mut taken = self.groups.iter().flat_map(|group| &group.members).collect::<Vec<_>>();
        let names = members.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for name in &names {
            if !self.is_named(name) || taken.contains(&name) {
                return None;
            }
            taken.push(name);
        }
        let fits = self.is_free(name) && (1..=names.len()).contains(&needed);
        let name = name.to_owned();
        fits.then(|| self.groups.push(Group { name, needed, members: names }))
    }

    fn set_quorum(&mut self, name: &str) -> Option<()> {
        self.quorum = (name != NONE).then(|| name.to_owned());
        (name == NONE || self.is_named(name)).then_some(())
    }

    fn is_free(&self, name: &str) -> bool {
        name != NONE && !self.is_named(name)
    }

    fn is_named(&self, name: &str) -> bool {
        self.witnesses.iter().any(|witness| witness.name == name)
            || self.groups.iter().any(|group| group.name == name)
    }

    pub fn is_met(&self, cosigned: impl Fn(&Witness) -> bool) -> bool {
        let met = self.witnesses.iter().filter(|witness| cosigned(witness));
        let mut met = met.map(|witness| &witness.name).collect::<Vec<_>>();
        // A group refers only to earlier names.
        for group in &self.groups {
            let there = group.members.iter().filter(|member| met.contains(member)).count();
            if there >= group.needed {
                met.push(&group.name);
            }
        }
        self.quorum.as_ref().is_none_or(|quorum| met.contains(&quorum))
    }
}

/// The lines of a policy without the logs, whose lines contain addresses.
impl fmt::Display for TrustPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Witness { name, key, url, .. } in &self.witnesses {
            let url = url.as_ref().map(|url| format!(" {url}")).unwrap_or_default();
            writeln!(formatter, "witness {name} {key}{url}")?;
        }
        for Group { name, needed, members } in &self.groups {
            writeln!(formatter, "group {name} {needed} {}", members.join(" "))?;
        }
        writeln!(formatter, "quorum {}", self.quorum.as_deref().unwrap_or(NONE))
    }
}

/// The log keys in one policy, or in several concatenated ones.
pub fn logs_in(text: &str) -> Result<Vec<Verifier>, PolicyError> {
    let mut logs = Vec::<Verifier>::new();
    for (number, line) in (1..).zip(text.lines()) {
        match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["log", key] | ["log", key, _] => {
                let log = Verifier::parse(key).ok_or(PolicyError::Line(number))?;
                logs.extend((!logs.contains(&log)).then_some(log));
            }
            [] | ["witness" | "group" | "quorum", ..] => {}
            [word, ..] if word.starts_with('#') => {}
            _ => return Err(PolicyError::Line(number)),
        }
    }
    if logs.is_empty() { Err(PolicyError::NoLog) } else { Ok(logs) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::format::cosignature::CosigningKey;

    const LOG: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    fn key(number: u8) -> String {
        CosigningKey::new("w.example", &[number; 32]).unwrap().cosigner().to_string()
    }

    #[test]
    fn a_policy_names_logs_witnesses_and_how_many_of_them_are_enough() {
        let (x1, x2, x3, y1) = (key(1), key(2), key(3), key(4));
        let text = format!(
            "# ours\n\nlog {LOG} https://a.example/log\n\twitness X1  {x1} https://x.example/w\n\
             witness X2 {x2}\nwitness X3 {x3}\nwitness Y1 {y1}\ngroup X 2 X1 X2 X3\n\
             group all-of all X Y1\nquorum all-of\n"
        );
        let policy = TrustPolicy::trusting(&text).unwrap();
        assert_eq!(policy.logs[0].to_string(), LOG);
        assert_eq!(policy.witnesses[0].url.as_deref(), Some("https://x.example/w"));
        let met = |names: &[&str]| policy.is_met(|witness| names.contains(&&*witness.name));
        let enough = [
            (vec![], false),
            (vec!["X1", "X2"], false),
            (vec!["X1", "Y1"], false),
            (vec!["X1", "X3", "Y1"], true),
            (vec!["X1", "X2", "X3", "Y1"], true),
        ];
        for (names, expected) in enough {
            assert_eq!(met(&names), expected, "{names:?}");
        }
        let again = TrustPolicy::parse(&policy.to_string()).unwrap();
        assert_eq!(TrustPolicy { logs: policy.logs.clone(), ..again }, policy);
        let any =
            TrustPolicy::parse(&format!("witness a {x1}\ngroup g any a\nquorum g\n")).unwrap();
        assert!(any.is_met(|_| true) && !any.is_met(|_| false));
        let none = TrustPolicy::parse(&format!("witness a {x1}\nquorum none\n")).unwrap();
        assert!(none.is_met(|_| false));
        assert_eq!(TrustPolicy::trusting(&none.to_string()), Err(PolicyError::NoLog));
    }

    #[test]
    fn what_a_policy_may_not_say_is_refused_by_its_line() {
        let (one, other) = (key(1), key(2));
        let witness = format!("witness a {one}\n");
        let wrong = [
            ("log nonsense\n".to_owned(), 1),
            (format!("log {one}\n"), 1),
            (format!("log {LOG}\nlog {LOG} https://b.example\n"), 2),
            (format!("logs {LOG}\n"), 1),
            (format!("witness a {LOG}\n"), 1),
            (format!("witness none {one}\n"), 1),
            (format!("{witness}witness a {other}\n"), 2),
            (format!("{witness}witness b {one}\n"), 2),
            (format!("{witness}group g any\n"), 2),
            (format!("{witness}group g 2 a\n"), 2),
            (format!("{witness}group g 0 a\n"), 2),
            (format!("{witness}group g 01 a\n"), 2),
            (format!("{witness}group g any a a\n"), 2),
            (format!("{witness}group a any a\n"), 2),
            (format!("{witness}group g any b\n"), 2),
            (format!("{witness}group g any none\n"), 2),
            (format!("{witness}group g any a\ngroup h any a\n"), 3),
            (format!("{witness}quorum b\n"), 2),
            (format!("quorum a\n{witness}"), 1),
            ("quorum none\nquorum none\n".to_owned(), 2),
        ];
        for (text, line) in wrong {
            assert_eq!(TrustPolicy::parse(&text), Err(PolicyError::Line(line)), "{text}");
        }
        assert_eq!(TrustPolicy::parse(&witness), Err(PolicyError::NoQuorum));
    }

    #[test]
    fn a_witness_that_signs_otherwise_is_known_by_name_and_never_counted() {
        use base64::Engine;
        use ring::digest::{SHA256, digest};
        let bytes = [&[6_u8][..], &[1; 1312]].concat();
        let id = digest(&SHA256, &[&b"w.example\n"[..], &bytes].concat());
        let key = base64::prelude::BASE64_STANDARD.encode(&bytes);
        let key = format!("w.example+{}+{key}", hex::encode(&id.as_ref()[..4]));
        let policy = TrustPolicy::parse(&format!("witness a {key}\nquorum a\n")).unwrap();
        assert!(policy.witnesses[0].cosigner.is_none());
    }

    #[test]
    fn the_logs_of_several_policies_are_read_together() {
        let text = format!("log {LOG} https://a.example/log\nquorum none\n");
        let logs = logs_in(&format!("# two\n{text}{text}witness a b\n")).unwrap();
        assert_eq!(logs.iter().map(Verifier::to_string).collect::<Vec<_>>(), [LOG]);
        assert_eq!(logs_in("quorum none\n"), Err(PolicyError::NoLog));
        assert_eq!(logs_in("log nonsense\n"), Err(PolicyError::Line(1)));
    }
}
