//! The export of all data of an account: one JSON document per line (NDJSON). It holds no database
//! connection between two pages, so slow readers do not exhaust the pool. The last line marks a
//! complete export.

use std::collections::VecDeque;

use futures_util::stream::{self, StreamExt};
use uuid::Uuid;

use super::lines::{write, write_page};
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::clients::own_invitations;
use crate::accounts::event::ActivityKind;
use crate::accounts::members::member_view::MemberView;
use crate::accounts::profile::Profile;
use crate::accounts::scope::Governs;
use crate::accounts::{self, EventSelection, grants, keys, mails, preferences};
use crate::billing;
use crate::contacts::reading::evaluation::Evaluation;
use crate::contacts::{self, suppressions};
use crate::erasure;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::exports::ExportPermit;
use crate::pixels;
use crate::pixels::view::PixelView;
use crate::policies;
use crate::policies::screenshots::list_screenshots;
use crate::receipts::export::{Lines, PIECE_BYTES, PolicyLine, ReceiptLine};
use crate::receipts::{self, StoredReceipt, list_pixels_ever};
use crate::sharing;
use crate::silence;
use crate::types::hem::Hem;
use crate::types::ids::{AccountId, PixelId};
use crate::webhooks::listing;

/// Rows per query. Rows that do not fit into the chunk are read again for the next one.
const PAGE: i64 = 200;
/// Contacts have up to 16 KiB each.
const CONTACT_PAGE: i64 = 32;
/// Watch reports have up to 1 MiB each.
const REPORT_PAGE: i64 = 4;

enum Cursor {
    Account,
    EventsBefore(Option<Uuid>),
    SuppressionsAfter(Option<Hem>),
    NextPixel,
    PoliciesAfter(PixelId, i32),
    ReceiptsAfter(PixelId, i64, i64),
    ContactsAfter(PixelId, i64),
    RequestsAfter(PixelId, Option<Uuid>),
    WatchReportsBefore(PixelId, Option<Uuid>),
    ScreenshotsBefore(PixelId, Option<Uuid>),
    End,
}

struct Export {
    infra: Infra,
    _permit: ExportPermit,
    caller: Caller,
    account_id: AccountId,
    pixel_ids: VecDeque<PixelId>,
    cursor: Cursor,
}

/// Starts the export of the caller's account. The first lines are produced before the response
/// starts, so that an export that cannot begin returns an ordinary error.
pub async fn export(infra: &Infra, caller: &Caller) -> Result<Lines> {
    let account_id = caller.account_id().clone();
    let permit = infra.exports.take(&account_id)?;
    let mut connection = infra.pool.acquire().await?;
    let pixel_ids = list_pixels_ever(&mut connection, &account_id).await?;
    drop(connection);
    let pixel_ids = pixel_ids.into_iter().map(PixelId::from).collect();
    let (infra, caller, cursor) = (infra.clone(), caller.clone(), Cursor::Account);
    let mut export = Export { infra, _permit: permit, caller, account_id, pixel_ids, cursor };
    let first = export.next_lines().await?;
    let rest = stream::unfold(export, |mut export| async {
        let lines = match export.next_lines().await {
            Ok(lines) => lines?,
            Err(error) => export.break_off(&error),
        };
        Some((lines, export))
    });
    Ok(stream::iter(first).chain(rest).boxed())
}

impl Export {
    async fn next_lines(&mut self) -> Result<Option<Vec<u8>>> {
        let cursor = std::mem::replace(&mut self.cursor, Cursor::End);
        let mut lines = Vec::new();
        self.cursor = match cursor {
            Cursor::Account => self.account(&mut lines).await?,
            Cursor::EventsBefore(before) => self.events(&mut lines, before).await?,
            Cursor::SuppressionsAfter(after) => self.suppressions(&mut lines, after).await?,
            Cursor::NextPixel => self.pixel(&mut lines).await?,
            Cursor::PoliciesAfter(pixel_id, after) => {
                self.policies(&mut lines, pixel_id, after).await?
            }
            Cursor::ReceiptsAfter(pixel_id, after, last) => {
                self.receipts(&mut lines, pixel_id, after, last).await?
            }
            Cursor::ContactsAfter(pixel_id, after) => {
                self.contacts(&mut lines, pixel_id, after).await?
            }
            Cursor::RequestsAfter(pixel_id, after) => {
                self.requests(&mut lines, pixel_id, after).await?
            }
            Cursor::WatchReportsBefore(pixel_id, before) => {
                self.watch_reports(&mut lines, pixel_id, before).await?
            }
            Cursor::ScreenshotsBefore(pixel_id, before) => {
                self.screenshots(&mut lines, pixel_id, before).await?
            }
            Cursor::End => return Ok(None),
        };
        Ok(Some(lines))
    }

    async fn account(&self, lines: &mut Vec<u8>) -> Result<Cursor> {
        let mut connection = self.infra.pool.acquire().await?;
        let account = accounts::find_account(&mut connection, &self.account_id).await?;
        let account = account.ok_or(Error::AccountNotFound)?;
        let profile = Profile::of(&mut connection, account).await?;
        write(lines, "account", None, profile)?;
        let members = accounts::list_members(&mut connection, &self.account_id).await?;
        for member in members {
            write(lines, "member", None, MemberView::from(member))?;
        }
        for chosen in preferences::export(&mut connection, &self.account_id).await? {
            write(lines, "preferences", None, chosen)?;
        }
        for offer in own_invitations::export(&mut connection, &self.account_id).await? {
            write(lines, "client_invitation", None, offer)?;
        }
        let mails = mails::preferences::read(&mut connection, &self.account_id).await?;
        write(lines, "mails", None, mails)?;
        for bought in billing::list_subscriptions(&mut connection, &self.account_id).await? {
            write(lines, "subscription", None, bought)?;
        }
        drop(connection);
        let (pool, clock) = (&self.infra.pool, &self.infra.clock);
        for key in keys::list_keys(pool, clock, &self.account_id).await?.api_keys {
            write(lines, "api_key", None, key)?;
        }
        for grant in grants::list_grants(pool, clock, &self.account_id).await?.grants {
            write(lines, "grant", None, grant)?;
        }
        for webhook in listing::list(pool, clock, &self.caller).await?.webhooks {
            write(lines, "webhook", None, webhook)?;
        }
        Ok(Cursor::EventsBefore(None))
    }

    async fn events(&self, lines: &mut Vec<u8>, before: Option<Uuid>) -> Result<Cursor> {
        let mut connection = self.infra.pool.acquire().await?;
        // Recorded when the body is read, so that a `HEAD` request records nothing.
        if before.is_none() {
            let (now, kind) = (self.infra.clock.now(), ActivityKind::AccountExported);
            self.caller.record(&mut connection, now, &self.account_id, kind, None).await?;
        }
        let filter = EventSelection { before, ..EventSelection::default() };
        let page = accounts::list_events(&mut connection, &self.account_id, &filter, PAGE).await?;
        let page = page.into_iter().map(|event| (event.event_id, event));
        Ok(match write_page(lines, "event", None, page)? {
            Some(last) => Cursor::EventsBefore(Some(last)),
            None => Cursor::SuppressionsAfter(None),
        })
    }

    async fn suppressions(&self, lines: &mut Vec<u8>, after: Option<Hem>) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page = suppressions::list_suppressions(&mut connection, &self.account_id, after, PAGE);
        let page = page.await?;
        let page = page.into_iter().map(|entry| (entry.hem, entry));
        Ok(match write_page(lines, "suppression", None, page)? {
            Some(last) => Cursor::SuppressionsAfter(Some(last)),
            None => Cursor::NextPixel,
        })
    }

    async fn pixel(&mut self, lines: &mut Vec<u8>) -> Result<Cursor> {
        let Some(pixel_id) = self.pixel_ids.pop_front() else {
            write::<()>(lines, "end", None, None)?;
            return Ok(Cursor::End);
        };
        let mut connection = self.infra.pool.acquire().await?;
        let pixel = pixels::find_pixel(&mut connection, &self.account_id, &pixel_id).await?;
        if let Some(pixel) = pixel {
            let site_move = pixels::moves::find(&mut connection, &self.infra.clock, &pixel).await?;
            write(lines, "pixel", None, PixelView::of(pixel, self.infra.base_url()))?;
            write_page(lines, "site_move", None, site_move.map(|it| ((), it)))?;
            for link in sharing::list_links(&mut connection, &pixel_id).await? {
                write(lines, "shared_link", Some(&pixel_id), link)?;
            }
        }
        for change in policies::popup_changes::list(&mut connection, &pixel_id).await? {
            write(lines, "popup_change", Some(&pixel_id), change)?;
        }
        Ok(Cursor::PoliciesAfter(pixel_id, 0))
    }

    async fn policies(&self, lines: &mut Vec<u8>, pixel_id: PixelId, after: i32) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let most_bytes = PIECE_BYTES as i64;
        let page = policies::list_policies(&mut connection, &pixel_id, after, PAGE, most_bytes);
        let page = page.await?;
        for version in &page {
            write(lines, "policy", Some(&pixel_id), PolicyLine::of(version)?)?;
        }
        if let Some(last) = page.last() {
            return Ok(Cursor::PoliciesAfter(pixel_id, last.version));
        }
        // Receipts that are recorded after the start are left out.
        let last = receipts::find_last_seq(&mut connection, &pixel_id).await?;
        Ok(Cursor::ReceiptsAfter(pixel_id, 0, last))
    }

    async fn receipts(
        &self,
        lines: &mut Vec<u8>,
        pixel_id: PixelId,
        after: i64,
        last: i64,
    ) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page =
            receipts::list_receipts_after(&mut connection, &pixel_id, after, last, PAGE).await?;
        let page = page.into_iter().map(|StoredReceipt { seq, signed, shown }| {
            (seq, ReceiptLine { envelope: signed.into(), shown, proof: None })
        });
        Ok(match write_page(lines, "receipt", Some(&pixel_id), page)? {
            Some(reached) => Cursor::ReceiptsAfter(pixel_id, reached, last),
            None => Cursor::ContactsAfter(pixel_id, 0),
        })
    }

    async fn contacts(&self, lines: &mut Vec<u8>, pixel_id: PixelId, after: i64) -> Result<Cursor> {
        let found = {
            let mut connection = self.infra.read_pool.acquire().await?;
            contacts::list_contacts(&mut connection, &pixel_id, after, CONTACT_PAGE).await?
        };
        let reached = found.last().map(|contact| contact.position);
        let evaluation = Evaluation::of(&self.infra, &pixel_id);
        let readable = evaluation.keep_readable(found).await?;
        let page = readable.into_iter().map(|contact| (contact.position, contact.contact));
        let written = write_page(lines, "contact", Some(&pixel_id), page)?;
        let is_full = lines.len() >= PIECE_BYTES;
        // A chunk that is not full contains all readable contacts of the page.
        Ok(match if is_full { written } else { reached } {
            Some(reached) => Cursor::ContactsAfter(pixel_id, reached),
            None => Cursor::RequestsAfter(pixel_id, None),
        })
    }

    async fn requests(
        &self,
        lines: &mut Vec<u8>,
        pixel_id: PixelId,
        after: Option<Uuid>,
    ) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page = erasure::list_requests(&mut connection, &pixel_id, None, after, PAGE).await?;
        let page = page.into_iter().map(|request| (request.request_id, request));
        Ok(match write_page(lines, "erasure_request", Some(&pixel_id), page)? {
            Some(reached) => Cursor::RequestsAfter(pixel_id, Some(reached)),
            None => Cursor::WatchReportsBefore(pixel_id, None),
        })
    }

    async fn watch_reports(
        &self,
        lines: &mut Vec<u8>,
        pixel_id: PixelId,
        before: Option<Uuid>,
    ) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page = silence::list_signed(&mut connection, &pixel_id, before, REPORT_PAGE).await?;
        let page = page.into_iter().map(|signed| (signed.report.report_id, signed));
        Ok(match write_page(lines, "watch_report", Some(&pixel_id), page)? {
            Some(reached) => Cursor::WatchReportsBefore(pixel_id, Some(reached)),
            None => Cursor::ScreenshotsBefore(pixel_id, None),
        })
    }

    async fn screenshots(
        &self,
        lines: &mut Vec<u8>,
        pixel_id: PixelId,
        before: Option<Uuid>,
    ) -> Result<Cursor> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page = list_screenshots(&mut connection, &pixel_id, None, before, PAGE).await?;
        let page = page.into_iter().map(|screenshot| (screenshot.screenshot_id, screenshot));
        Ok(match write_page(lines, "screenshot", Some(&pixel_id), page)? {
            Some(reached) => Cursor::ScreenshotsBefore(pixel_id, Some(reached)),
            None => Cursor::NextPixel,
        })
    }

    /// The status has been sent already, so the failure is reported in the last line.
    fn break_off(&mut self, error: &Error) -> Vec<u8> {
        if let Error::Internal(cause) = error {
            tracing::error!(cause, account_id = %self.account_id, "an export broke off");
        }
        self.cursor = Cursor::End;
        let mut line = Vec::new();
        match write(&mut line, "error", None, error.to_string()) {
            Ok(()) => line,
            Err(_) => Vec::new(),
        }
    }
}

pub struct ExportAccount;

impl Capability for ExportAccount {
    const NAME: &'static str = "export_account";
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = NoInput;
    type Output = Lines;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Lines> {
        caller.require_fresh()?;
        export(infra, &caller).await
    }
}
