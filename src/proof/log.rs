use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::cosigning::witnesses::Witnesses;
use super::format::checkpoint::Checkpoint;
use super::format::note::{Note, NoteError, NoteSigner};
use super::format::tile::Address;
use super::guard::Guard;
use super::pause::Pause;
use crate::config::Config;
use crate::infra::Infra;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::metrics::Metrics;

const TILE_CACHE: u64 = 4 << 20;
/// Time for which a checkpoint is served without reading the database again.
const CHECKPOINT_LIFE: Duration = Duration::from_secs(1);

/// A tile, or a bundle at level -1, of a given width. Its content never changes.
pub(super) type PieceKey = (i16, Address);

/// The log. Without a key, nothing is appended and nothing is served.
#[derive(Clone)]
pub struct Log {
    pub(super) infra: Infra,
    pub(super) key: Option<Arc<LogKey>>,
    pub(super) guard: Arc<Guard>,
    pub(super) witnesses: Arc<Witnesses>,
    pub appended: Arc<Notify>,
    pub(super) pieces: Cache<PieceKey, Arc<[u8]>>,
    pub(super) checkpoint: Cache<(), Arc<str>>,
}

pub(super) struct LogKey {
    pub(super) origin: String,
    pub(super) signer: NoteSigner,
    /// The origin of the first log; later ones append a number.
    first_origin: String,
    pub(super) number: u32,
}

impl LogKey {
    /// The checkpoint of a note that this key signed for this log; `None` for other logs.
    pub(super) fn read(&self, note: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::parse(self.signer.verifier().open(note).ok()?)?;
        (checkpoint.origin == self.origin).then_some(checkpoint)
    }

    /// The state in a stored note, for every log of this service and for any key, because keys
    /// change. `None` when it is malformed, or was altered after this key signed it.
    pub(super) fn recall(&self, note: &str) -> Option<Checkpoint> {
        let note = Note::parse(note).ok()?;
        let state = Checkpoint::parse(note.text)?;
        let key = self.signer.verifier().renamed(&state.origin)?;
        let is_changed =
            matches!(key.open_parsed(&note), Err(NoteError::Forged | NoteError::Malformed));
        (!is_changed).then_some(state)
    }

    /// The number of this service's log with this origin; `None` for other logs.
    pub(super) fn number_of(&self, origin: &str) -> Option<u32> {
        match origin.strip_prefix(&self.first_origin)? {
            "" => Some(1),
            rest => rest.strip_prefix('/')?.parse().ok(),
        }
    }
}

impl Log {
    pub fn new(infra: Infra) -> Self {
        let weigh = |bytes: &Arc<[u8]>| u32::try_from(bytes.len() + 100).unwrap_or(u32::MAX);
        let bounds = Bounds { max_weight: TILE_CACHE, weigh, life: None };
        Self {
            key: find_key(&infra.config, &infra.base_host()).map(Arc::new),
            guard: Arc::new(Guard::new(infra.config.log_state.clone())),
            witnesses: Arc::new(find_witnesses(&infra.config, &infra.metrics)),
            appended: Arc::default(),
            pieces: Cache::new(bounds),
            checkpoint: Cache::new(Bounds::entries(1, Some(CHECKPOINT_LIFE))),
            infra,
        }
    }

    pub fn is_kept(&self) -> bool {
        self.key.is_some()
    }

    pub fn has_witnesses(&self) -> bool {
        !self.witnesses.asked.is_empty()
    }

    /// Whether the log is paused on this node, because an append could contradict a signed state.
    pub fn is_paused(&self) -> bool {
        self.infra.metrics.log.stopped.get() == 1
    }

    pub(super) fn pause(&self, pause: &Pause) {
        self.infra.metrics.log.stopped.set(1);
        if self.guard.record_pause(Some(pause)) {
            tracing::error!(
                "nothing is added to the log: {pause} (docs/operating.md, AssentLogStopped)"
            );
        }
    }

    pub(super) fn resume(&self) {
        self.infra.metrics.log.stopped.set(0);
        if self.guard.record_pause(None) {
            tracing::info!("the log is added to again");
        }
    }

    pub fn announce(&self) {
        match &self.key {
            Some(key) => {
                let (origin, key) = (key.origin.as_str(), key.signer.verifier().to_string());
                tracing::info!(origin, key, "entries are appended to the log");
                if !self.guard.has_file() && !self.has_witnesses() {
                    tracing::warn!("{FORGETFUL}");
                }
                if self.has_witnesses() {
                    let witnesses = self.witnesses.asked.len();
                    tracing::info!(witnesses, "the log is cosigned by witnesses");
                }
            }
            None => tracing::info!("the transparency log is off: LOG_KEY is not set"),
        }
    }
}

const FORGETFUL: &str = "neither LOG_STATE nor LOG_WITNESSES is set: nothing outside the database remembers \
    what was signed of the log, so a database from a backup would be signed in a second way";

fn find_witnesses(config: &Config, metrics: &Metrics) -> Witnesses {
    let witnesses = Witnesses::from_config(config).unwrap_or_default();
    witnesses.asked.iter().for_each(|witness| metrics.log.expect_witness(&witness.name));
    witnesses
}

fn find_key(config: &Config, own_host: &str) -> Option<LogKey> {
    let seed = hex::decode(config.log_key.as_ref()?.expose()).ok()?;
    let number = config.log_number;
    let first_origin = format!("{own_host}{}", path_of(1));
    let origin = format!("{own_host}{}", path_of(number));
    let signer = NoteSigner::new(&origin, &seed)?;
    Some(LogKey { origin, signer, first_origin, number })
}

pub(super) fn path_of(number: u32) -> String {
    if number == 1 { "/log".to_owned() } else { format!("/log/{number}") }
}
