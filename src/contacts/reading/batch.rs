use crate::contacts::store::reading::PositionedContact;

/// Bytes after which a chunk is sent. A slow reader holds about this much memory, or twice that for a whole day.
pub const PIECE_BYTES: usize = 128 << 10;
/// Contacts per query: the initial and the largest number. Contacts that do not fit into a chunk
/// are read again for the next one, and then fewer are read per query.
pub const FIRST_BATCH: i64 = 32;
const MOST_BATCH: i64 = 250;

/// Contacts that were read and not evaluated yet: as many as fill a chunk, at least one.
pub struct Batch {
    pub contacts: Vec<PositionedContact>,
    /// Whether contacts were left out, because the chunk has no room for them.
    pub is_cut: bool,
    /// Whether the query returned fewer contacts than its limit.
    pub is_short: bool,
}

impl Batch {
    /// The result of a query for at most this number of contacts.
    pub fn of(mut contacts: Vec<PositionedContact>, limit: i64) -> Self {
        let is_short = count(&contacts) < limit;
        let mut bytes = 0;
        let fitting = contacts.iter().take_while(|contact| {
            let has_room = bytes < PIECE_BYTES;
            bytes += contact.contact.contact.get().len();
            has_room
        });
        let fitting = fitting.count();
        let is_cut = fitting < contacts.len();
        contacts.truncate(fitting);
        Self { contacts, is_cut, is_short }
    }

    /// The number of contacts to read next.
    pub fn next_size(&self) -> i64 {
        let kept = count(&self.contacts).min(MOST_BATCH);
        let next = if self.is_cut { kept + 1 } else { 2 * kept };
        next.clamp(FIRST_BATCH.min(kept + 1), MOST_BATCH)
    }
}

fn count(contacts: &[PositionedContact]) -> i64 {
    i64::try_from(contacts.len()).unwrap_or(i64::MAX)
}
