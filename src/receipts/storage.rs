//! The storage of receipts and impressions. The tables are in one database ([`SingleDatabase`]) or are
//! distributed over several machines ([`Cluster`](super::cluster::Cluster)).

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use super::check::lookup::{Lookup, find_latest};
use super::record::writing::{Job, PlainStatements, Writer};
use super::store::shown::{self, ShownOn};
use crate::error::Result;
use crate::infra::postgres::dedicated_connection::DedicatedConnection;
use crate::types::ids::{PixelId, VisitorId};

/// Operations on the tables that grow with visitors.
pub trait ReceiptStorage: Send + Sync {
    /// Stores the choices of a batch, and replies to their senders.
    fn record<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Job>,
    ) -> BoxFuture<'a, ()>;

    /// Finds the latest receipts for the lookups of a batch, and replies to their senders.
    fn find<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Lookup>,
    ) -> BoxFuture<'a, ()>;

    /// Inserts an impression once per visitor, pixel and day, unless the pixel is deleted or suspended.
    fn insert_shown<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        pixel_id: &'a PixelId,
        shown_on: ShownOn,
        visitor_id: &'a VisitorId,
    ) -> BoxFuture<'a, Result<()>>;
}

pub struct SingleDatabase {
    pub writer: Writer<PlainStatements>,
}

impl ReceiptStorage for SingleDatabase {
    fn record<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Job>,
    ) -> BoxFuture<'a, ()> {
        self.writer.write(connection, batch).boxed()
    }

    fn find<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Lookup>,
    ) -> BoxFuture<'a, ()> {
        find_latest(connection, batch).boxed()
    }

    fn insert_shown<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        pixel_id: &'a PixelId,
        shown_on: ShownOn,
        visitor_id: &'a VisitorId,
    ) -> BoxFuture<'a, Result<()>> {
        shown::insert_shown(connection, pixel_id, shown_on, visitor_id).boxed()
    }
}
