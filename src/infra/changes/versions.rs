use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::fast::RandomState;

use super::invalidation::Invalidation;
use super::topic::Topic;

/// The number of slots, which topics share by hash. A collision only causes an unnecessary read. They take 128 KiB.
const SLOTS: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64);

#[derive(Clone, Copy, Debug)]
pub struct Slot(u16);

/// Notifications are numbered; each slot contains the number of its latest notification.
#[derive(Debug)]
pub(super) struct Versions {
    last: AtomicU64,
    everything: AtomicU64,
    may_miss_changes: AtomicBool,
    slots: Box<[AtomicU64]>,
    /// Seeded per process, so that collisions cannot be provoked.
    hasher: RandomState,
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            last: AtomicU64::default(),
            everything: AtomicU64::default(),
            may_miss_changes: AtomicBool::default(),
            slots: (0..SLOTS).map(|_| AtomicU64::default()).collect(),
            hasher: RandomState::default(),
        }
    }
}

impl Versions {
    pub(super) fn current(&self) -> Version {
        Version(self.last.load(Ordering::Acquire))
    }

    pub(super) fn slot(&self, topic: Topic<'_>) -> Slot {
        let index = self.hasher.hash_one(topic) % SLOTS as u64;
        Slot(u16::try_from(index).unwrap_or_default())
    }

    pub(super) fn is_current(
        &self,
        version: Version,
        slots: impl IntoIterator<Item = Slot>,
    ) -> bool {
        let is_before = |latest: &AtomicU64| latest.load(Ordering::Acquire) <= version.0;
        !self.may_miss_changes.load(Ordering::Acquire)
            && is_before(&self.everything)
            && slots.into_iter().all(|slot| is_before(&self.slots[usize::from(slot.0)]))
    }

    /// Invalidates what a committed change concerns. A version taken while this runs is safe, because its read begins after the commit.
    pub(super) fn invalidate(&self, invalidation: &Invalidation) {
        if invalidation.is_empty() {
            return;
        }
        let number = self.next();
        for topic in invalidation.topics() {
            let slot = self.slot(topic);
            self.slots[usize::from(slot.0)].fetch_max(number, Ordering::AcqRel);
        }
    }

    pub(super) fn invalidate_all(&self) {
        self.everything.fetch_max(self.next(), Ordering::AcqRel);
    }

    /// Marks the connection as lost: nothing is current until [`Versions::mark_reconnected`].
    pub(super) fn mark_disconnected(&self) {
        self.may_miss_changes.store(true, Ordering::Release);
    }

    pub(super) fn mark_reconnected(&self) {
        self.invalidate_all();
        self.may_miss_changes.store(false, Ordering::Release);
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::AcqRel) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ids::{AccountId, PixelId};

    fn invalidation_of(pixel: &str) -> Invalidation {
        Invalidation::of_pixel(&PixelId::from(pixel.to_owned()))
    }

    #[test]
    fn news_ends_what_was_read_before_it_and_nothing_else() {
        let versions = Versions::default();
        let mine = versions.slot(Topic::Pixel("mine"));
        let owner = versions.slot(Topic::Account("acc_me"));
        let read_at = versions.current();
        versions.invalidate(&Invalidation::none());
        versions.invalidate(&invalidation_of("another"));
        assert!(versions.is_current(read_at, [mine, owner]));
        versions.invalidate(&invalidation_of("mine"));
        assert!(!versions.is_current(read_at, [mine, owner]));

        let read_at = versions.current();
        versions.invalidate(&invalidation_of("another"));
        assert!(versions.is_current(read_at, [mine, owner]));
        versions.invalidate(&Invalidation::of_account(&AccountId::from("acc_me".to_owned())));
        assert!(
            !versions.is_current(read_at, [mine, owner]) && versions.is_current(read_at, [mine])
        );
        versions.invalidate_all();
        assert!(!versions.is_current(read_at, []));
        assert!(versions.is_current(versions.current(), [mine, owner]));
    }

    #[test]
    fn nothing_is_current_while_changes_may_be_missed() {
        let versions = Versions::default();
        let mine = versions.slot(Topic::Pixel("mine"));
        versions.mark_disconnected();
        let read_meanwhile = versions.current();
        assert!(!versions.is_current(read_meanwhile, [mine]));
        versions.mark_reconnected();
        assert!(!versions.is_current(read_meanwhile, [mine]));
        assert!(versions.is_current(versions.current(), [mine]));
    }
}
