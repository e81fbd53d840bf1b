use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::infra::postgres::dedicated_connection::{DedicatedConnection, LiveConnection};
use crate::receipts::store::latest::{LatestConsent, VisitorRef, list_latest};

pub const BATCH: usize = 500;

pub type Reply = oneshot::Sender<Result<Option<LatestConsent>>>;

pub struct Lookup {
    pub visitor: VisitorRef,
    pub reply: Reply,
}

impl AsRef<VisitorRef> for Lookup {
    fn as_ref(&self) -> &VisitorRef {
        &self.visitor
    }
}

/// Reads the latest receipts, and replies.
pub async fn find_latest(connection: &mut DedicatedConnection, batch: Vec<Lookup>) {
    let reading = async |live: &mut LiveConnection| list_latest(&mut live.connection, &batch).await;
    let found = connection.run(reading).await;
    reply_all(batch.into_iter().map(|lookup| lookup.reply), found);
}

/// Sends the results, which are in the order of the lookups.
pub fn reply_all(
    waiting: impl IntoIterator<Item = Reply>,
    found: Result<Vec<Option<Result<LatestConsent>>>>,
) {
    match found {
        Ok(found) => {
            for (reply, latest) in waiting.into_iter().zip(found) {
                let _ = reply.send(latest.transpose());
            }
        }
        Err(error) => refuse_all(waiting, &error),
    }
}

pub fn refuse_all(waiting: impl IntoIterator<Item = Reply>, error: &Error) {
    for reply in waiting {
        let _ = reply.send(Err(error.for_another()));
    }
}
