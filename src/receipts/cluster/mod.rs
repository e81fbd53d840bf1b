//! Receipts in tables that are distributed over several machines (docs/scaling.md). Every shard has its own queue
//! and connection ([`shard_queues`]), and every statement concerns pixels of one shard only ([`store`]).

mod alias_cache;
mod checking;
mod recording;
mod shard_queues;
mod shards;
mod store;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use self::checking::LookupRouter;
use self::recording::ChoiceRouter;
use self::shards::Shards;
use super::check::lookup::{Lookup, refuse_all};
use super::record::writing::{Job, Notifiers, PlainStatements, Writer};
use super::storage::{ReceiptStorage, SingleDatabase};
use super::store::shown::ShownOn;
use crate::error::Result;
use crate::infra::metrics::ReceiptMetrics;
use crate::infra::postgres::Database;
use crate::infra::postgres::dedicated_connection::DedicatedConnection;
use crate::types::ids::{PixelId, VisitorId};

/// The storage of a node. It detects whether the tables are distributed, and otherwise uses
/// [`SingleDatabase`].
pub struct Cluster {
    database: Database,
    single: SingleDatabase,
    shards: Shards,
    choices: ChoiceRouter,
    lookups: LookupRouter,
}

impl Cluster {
    /// `notifiers` notifies tasks of this node only.
    pub fn new(database: &Database, metrics: ReceiptMetrics, notifiers: Notifiers) -> Self {
        let writer = Writer { statements: PlainStatements, metrics, notifiers };
        Self {
            database: database.clone(),
            shards: Shards::new(),
            choices: ChoiceRouter::new(database, &writer),
            lookups: LookupRouter::new(database),
            single: SingleDatabase { writer },
        }
    }
}

impl ReceiptStorage for Cluster {
    fn record<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Job>,
    ) -> BoxFuture<'a, ()> {
        let recording = async move {
            match connection.is_distributed().await {
                Ok(false) => self.single.record(connection, batch).await,
                Ok(true) => self.choices.route(connection, &self.shards, batch).await,
                Err(error) => self.single.writer.refuse(batch, &error),
            }
        };
        recording.boxed()
    }

    fn find<'a>(
        &'a self,
        connection: &'a mut DedicatedConnection,
        batch: Vec<Lookup>,
    ) -> BoxFuture<'a, ()> {
        let finding = async move {
            match connection.is_distributed().await {
                Ok(false) => self.single.find(connection, batch).await,
                Ok(true) => self.lookups.route(connection, &self.shards, batch).await,
                Err(error) => refuse_all(batch.into_iter().map(|lookup| lookup.reply), &error),
            }
        };
        finding.boxed()
    }

    fn insert_shown<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        pixel_id: &'a PixelId,
        shown_on: ShownOn,
        visitor_id: &'a VisitorId,
    ) -> BoxFuture<'a, Result<()>> {
        if self.database.server.is_distributed() {
            store::recording::insert_shown(connection, pixel_id, shown_on, visitor_id).boxed()
        } else {
            self.single.insert_shown(connection, pixel_id, shown_on, visitor_id)
        }
    }
}
