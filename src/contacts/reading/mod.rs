//! Reading contacts, by day, by cursor, or by changes. All are read and written out in batches,
//! with a database connection only during a query, so that neither a large day nor a slow reader
//! holds memory or connections.

mod batch;
pub mod evaluation;
pub mod finding;
pub mod of_visitor;
pub mod pages;
pub mod read_contacts;
pub mod selection;
pub mod spreadsheet;
pub mod table;

use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Serialize;
use sqlx::PgPool;
use tokio::try_join;

use self::batch::{Batch, FIRST_BATCH, PIECE_BYTES};
use self::evaluation::Evaluation;
use self::selection::{ReadRequest, Selection};
use super::store::reading::{self as store, PositionedContact};
use crate::accounts::access::Caller;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::csv::{BROKEN_OFF, Format};
use crate::types::ids::PixelId;
use crate::types::page_address::PageAddress;

pub type Pieces = BoxStream<'static, Vec<u8>>;

pub struct ContactStream {
    pub pixel_id: PixelId,
    pub selection: Selection,
    pub format: Format,
    pub pieces: Pieces,
    /// The address of the next page, if there is one and it is known with the first chunk.
    pub next: Option<String>,
}

/// Returns the contacts as one JSON object or as a table, in chunks. A failure before the first chunk is an
/// error; a later one leaves the object without its end, or ends the table with a line that says so.
pub async fn read(
    infra: &Infra,
    caller: &Caller,
    request: ReadRequest,
    selection: Selection,
    format: Format,
) -> Result<ContactStream> {
    let pixel_id = find_for(&infra.pool, caller, &request.pixel_id).await?.pixel_id;
    let mut reading = Reading::new(infra, pixel_id.clone(), selection, format);
    reading.address = request.address;
    if format == Format::Csv {
        let end = reading.end_page().await?;
        reading.next = end.and_then(|end| reading.page_after(end));
    }
    let first = reading.beginning().await?;
    let next = reading.next.clone();
    let rest = stream::unfold(reading, |mut reading| async {
        let piece = reading.next_piece().await.unwrap_or_else(|error| reading.break_off(&error));
        piece.map(|piece| (piece, reading))
    });
    let pieces = stream::iter([first]).chain(rest).boxed();
    Ok(ContactStream { pixel_id, selection, format, pieces, next })
}

struct Reading {
    pool: PgPool,
    evaluation: Evaluation,
    pixel_id: PixelId,
    selection: Selection,
    format: Format,
    scanned: i64,
    /// The position of the last returned contact, initially the start.
    reached: i64,
    until: i64,
    left: i64,
    batch: i64,
    /// The next contacts of a whole day, which are read while the previous ones are evaluated.
    ahead: Option<Batch>,
    stage: Stage,
    address: Option<PageAddress>,
    next: Option<String>,
}

#[derive(PartialEq)]
enum Stage {
    Head,
    Contacts,
    End,
}

impl Reading {
    fn new(infra: &Infra, pixel_id: PixelId, selection: Selection, format: Format) -> Self {
        let (start, left) = match selection {
            Selection::On { page: None, .. } => (0, i64::MAX),
            Selection::On { page: Some(page), .. } => (page.after, page.limit),
            Selection::After { id, limit } => (id, limit),
            Selection::Changed { after, limit } => (after, limit),
        };
        Self {
            pool: infra.read_pool.clone(),
            evaluation: Evaluation::of(infra, &pixel_id),
            pixel_id,
            selection,
            format,
            scanned: start,
            reached: start,
            until: i64::MAX,
            left,
            batch: FIRST_BATCH,
            ahead: None,
            stage: Stage::Head,
            address: None,
            next: None,
        }
    }

    /// Determines the end of a page before reading it, because a table's headers say whether more
    /// follows. `None` on the last page. Contacts that turn out hidden make the page shorter.
    async fn end_page(&mut self) -> Result<Option<i64>> {
        if self.left == i64::MAX {
            return Ok(None);
        }
        let mut connection = self.pool.acquire().await?;
        let (pixel_id, after, limit) = (&self.pixel_id, self.scanned, self.left);
        let end = match self.selection {
            Selection::On { day, .. } => {
                store::find_page_end_of_day(&mut connection, pixel_id, day, after, limit).await?
            }
            Selection::After { .. } => {
                store::find_page_end(&mut connection, pixel_id, after, limit).await?
            }
            Selection::Changed { .. } => {
                store::find_page_end_of_changes(&mut connection, pixel_id, after, limit).await?
            }
        };
        self.until = end.unwrap_or(i64::MAX);
        Ok(end)
    }

    /// The first pieces: a short page as a whole, so that its headers can say whether more follows.
    async fn beginning(&mut self) -> Result<Vec<u8>> {
        let mut beginning = Vec::new();
        while beginning.len() < PIECE_BYTES
            && let Some(piece) = self.next_piece().await?
        {
            beginning.extend(piece);
        }
        Ok(beginning)
    }

    fn page_after(&self, position: i64) -> Option<String> {
        let parameter = match self.selection {
            Selection::On { .. } => "cursor",
            Selection::After { .. } => "after",
            Selection::Changed { .. } => "changed_after",
        };
        Some(self.address.as_ref()?.of_page(parameter, &position.to_string()))
    }

    async fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        if self.stage == Stage::End {
            return Ok(None);
        }
        let (contacts, is_last) = self.next_contacts().await?;
        let mut piece = Vec::new();
        if self.stage == Stage::Head {
            self.write_head(&mut piece)?;
        }
        self.write_contacts(&mut piece, &contacts)?;
        self.reached = contacts.last().map_or(self.reached, |contact| contact.position);
        self.left -= i64::try_from(contacts.len()).map_err(Error::internal)?;
        if is_last || self.left == 0 {
            self.write_tail(&mut piece, is_last).await?;
            self.stage = Stage::End;
        }
        Ok(Some(piece))
    }

    async fn next_contacts(&mut self) -> Result<(Vec<PositionedContact>, bool)> {
        loop {
            let batch = match self.ahead.take() {
                Some(batch) => batch,
                None => self.next_batch(self.left.min(self.batch)).await?,
            };
            self.batch = batch.next_size();
            let Batch { contacts: found, is_cut, is_short } = batch;
            self.scanned = found.last().map_or(self.scanned, |contact| contact.position);
            let is_last = !is_cut && (is_short || self.scanned >= self.until);
            let evaluating = self.evaluation.keep_readable(found);
            // The size of the next batch of a limited page depends on how many of this one can be read.
            let contacts = if is_last || !self.is_of_whole_day() {
                evaluating.await?
            } else {
                let (contacts, next) = try_join!(evaluating, self.next_batch(self.batch))?;
                self.ahead = Some(next);
                contacts
            };
            if is_last || !contacts.is_empty() {
                return Ok((contacts, is_last));
            }
        }
    }

    async fn next_batch(&self, limit: i64) -> Result<Batch> {
        let mut connection = self.pool.acquire().await?;
        let (pixel_id, after) = (&self.pixel_id, self.scanned);
        let mut found = match self.selection {
            Selection::On { day, .. } => {
                store::list_contacts_of_day(&mut connection, pixel_id, day, after, limit).await?
            }
            Selection::After { .. } => {
                store::list_contacts(&mut connection, pixel_id, after, limit).await?
            }
            Selection::Changed { .. } => {
                store::list_changed_contacts(&mut connection, pixel_id, after, limit).await?
            }
        };
        found.retain(|contact| contact.position <= self.until);
        Ok(Batch::of(found, limit))
    }

    fn is_of_whole_day(&self) -> bool {
        matches!(self.selection, Selection::On { page: None, .. })
    }

    fn is_of_changes(&self) -> bool {
        matches!(self.selection, Selection::Changed { .. })
    }

    fn write_contacts(
        &mut self,
        piece: &mut Vec<u8>,
        contacts: &[PositionedContact],
    ) -> Result<()> {
        let contacts = contacts.iter().map(|contact| &contact.contact);
        if self.format == Format::Csv {
            self.stage = Stage::Contacts;
            piece.extend(table::lines(contacts, self.is_of_changes())?);
            return Ok(());
        }
        for contact in contacts {
            if self.stage == Stage::Contacts {
                piece.push(b',');
            }
            write_json(piece, contact)?;
            self.stage = Stage::Contacts;
        }
        Ok(())
    }

    /// The status has been sent, so the failure must be visible in the body.
    fn break_off(&mut self, error: &Error) -> Option<Vec<u8>> {
        tracing::error!(%error, pixel_id = %self.pixel_id, "reading contacts broke off");
        self.stage = Stage::End;
        (self.format == Format::Csv).then(|| BROKEN_OFF.to_vec())
    }

    fn write_head(&self, piece: &mut Vec<u8>) -> Result<()> {
        if self.format == Format::Csv {
            piece.extend(table::head(self.is_of_changes())?);
            return Ok(());
        }
        piece.extend(b"{\"pixel_id\":");
        write_json(piece, &self.pixel_id)?;
        match self.selection {
            Selection::On { day, .. } => {
                piece.extend(b",\"on\":");
                write_json(piece, &day)?;
            }
            Selection::After { id, .. } => {
                piece.extend(b",\"after\":");
                write_json(piece, &id)?;
            }
            Selection::Changed { after, .. } => {
                piece.extend(b",\"changed_after\":");
                write_json(piece, &after)?;
            }
        }
        piece.extend(b",\"contacts\":[");
        Ok(())
    }

    async fn write_tail(&mut self, piece: &mut Vec<u8>, is_last: bool) -> Result<()> {
        if self.format == Format::Csv {
            return Ok(());
        }
        piece.push(b']');
        let mut has_more = !is_last;
        match self.selection {
            Selection::After { .. } => {
                piece.extend(b",\"high_water\":");
                write_json(piece, &self.reached)?;
            }
            Selection::Changed { .. } => {
                piece.extend(b",\"changed_high_water\":");
                write_json(piece, &self.reached)?;
            }
            Selection::On { page: Some(_), .. } => {
                self.left = 1;
                has_more = has_more && !self.next_contacts().await?.0.is_empty();
                piece.extend(b",\"next_cursor\":");
                write_json(piece, &has_more.then(|| self.reached.to_string()))?;
            }
            Selection::On { page: None, .. } => {}
        }
        if self.address.is_some() {
            self.next = has_more.then(|| self.page_after(self.reached)).flatten();
            piece.extend(b",\"next\":");
            write_json(piece, &self.next)?;
        }
        piece.push(b'}');
        Ok(())
    }
}

fn write_json(piece: &mut Vec<u8>, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(piece, value).map_err(Error::internal)
}
