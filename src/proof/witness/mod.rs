//! A witness of third-party logs (c2sp.org/tlog-witness), which cosigns only extensions of the last
//! state that it cosigned. It is independent of this service, and has no database.

mod answer;
mod evaluation;
mod memory;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::clock::Clock;
use crate::proof::format::cosignature::CosigningKey;
use crate::proof::format::note::Verifier;

pub use answer::Answer;
use evaluation::{Evaluation, Submitted};
use memory::Memory;

pub struct LogWitness {
    key: CosigningKey,
    clock: Clock,
    logs: HashMap<String, WatchedLog>,
}

/// The memory is locked during verification, so that checkpoints of a log are verified one after the other.
struct WatchedLog {
    keys: Vec<Verifier>,
    memory: Mutex<Memory>,
}

impl LogWitness {
    pub fn open(
        key: CosigningKey,
        clock: Clock,
        logs: Vec<Verifier>,
        folder: &Path,
    ) -> io::Result<Self> {
        let mut keys = HashMap::<String, Vec<Verifier>>::new();
        for log in logs {
            keys.entry(log.name().to_owned()).or_default().push(log);
        }
        let watched = keys.into_iter().map(|(origin, keys)| {
            let memory = Mutex::new(Memory::open(folder, &origin)?);
            Ok((origin, WatchedLog { keys, memory }))
        });
        Ok(Self { key, clock, logs: watched.collect::<io::Result<_>>()? })
    }

    pub fn count_logs(&self) -> usize {
        self.logs.len()
    }

    pub fn verifier_key(&self) -> String {
        self.key.cosigner().to_string()
    }

    /// Verifies a checkpoint. A cosigned one is on disk before this returns.
    pub fn add_checkpoint(&self, body: &[u8]) -> io::Result<Answer> {
        let Some(submitted) = std::str::from_utf8(body).ok().and_then(Submitted::read) else {
            return Ok(Answer::Malformed);
        };
        let Some(log) = self.logs.get(&submitted.checkpoint.origin) else {
            return Ok(Answer::UnknownLog);
        };
        let mut memory = log.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let signed = match submitted.evaluate(&log.keys, memory.known()) {
            Evaluation::GoesOn(signed) => signed,
            Evaluation::Refused(answer) => return Ok(answer),
        };
        let time = u64::try_from(self.clock.now().timestamp()).unwrap_or_default();
        let line = self.key.cosign(submitted.text(), time);
        memory.replace(&submitted.checkpoint, &format!("{signed}{line}"))?;
        Ok(Answer::Cosigned(line))
    }

    /// The last cosigned note of the log whose name has this SHA-256, in hex.
    pub fn checkpoint(&self, origin_hash: &str) -> Option<String> {
        let log = self.logs.iter().find(|(origin, _)| memory::name_of(origin) == origin_hash);
        let (_, log) = log?;
        log.memory.lock().unwrap_or_else(PoisonError::into_inner).note().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests;
