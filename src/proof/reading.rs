use std::sync::Arc;

use super::format::bundle;
use super::format::note::{Note, Verifier};
use super::format::policy::TrustPolicy;
use super::format::tile::{Address, parse_level};
use super::log::{Log, path_of};
use super::store;
use super::stored_tree::BUNDLES;
use crate::error::{Error, Result};

const HASH: usize = 32;

impl Log {
    pub async fn read_checkpoint(&self) -> Result<Arc<str>> {
        let key = self.key.as_ref().ok_or(Error::NoLog)?;
        let reading = async {
            let mut connection = self.infra.pool.acquire().await?;
            Ok(Arc::from(self.shown(&mut connection).await?))
        };
        let note = self.checkpoint.get_or_make((), reading).await?;
        // Before the first signature, the note is empty or belongs to a log of another name.
        let is_of_this = note.lines().next() == Some(&key.origin);
        if is_of_this { Ok(note) } else { Err(Error::NotInLog) }
    }

    /// The number of the log: 1, or more for a log that was begun after a loss.
    pub fn number(&self) -> u32 {
        self.infra.config.log_number
    }

    pub fn verifier(&self) -> Result<&Verifier> {
        Ok(self.key.as_ref().ok_or(Error::NoLog)?.signer.verifier())
    }

    /// The key, address and witnesses of the log, for clients (c2sp.org/tlog-policy).
    pub fn policy(&self) -> Result<String> {
        let key = self.verifier()?;
        let address = format!("{}{}", self.infra.base_url(), path_of(self.number()));
        Ok(format!("log {key} {address}\n{}", self.witnesses.policy))
    }

    pub fn trust(&self) -> Result<TrustPolicy> {
        Ok(self.witnesses.policy.for_log(self.verifier()?.clone()))
    }

    pub async fn count_cosigners(&self) -> Result<usize> {
        if !self.has_witnesses() {
            return Ok(0);
        }
        let note = self.read_checkpoint().await?;
        Ok(Note::parse(&note).map_or(0, |note| note.signatures.len().saturating_sub(1)))
    }

    pub async fn read_tile(&self, level: &str, tile: &str) -> Result<Arc<[u8]>> {
        let level = parse_level(level).ok_or(Error::NotInLog)?;
        self.read_piece(level.into(), tile, |hashes, width| hashes.get(..width * HASH)).await
    }

    pub async fn read_entries(&self, bundle: &str) -> Result<Arc<[u8]>> {
        self.read_piece(BUNDLES, bundle, bundle::first).await
    }

    async fn read_piece(
        &self,
        level: i16,
        address: &str,
        first: impl for<'b> Fn(&'b [u8], usize) -> Option<&'b [u8]> + Send,
    ) -> Result<Arc<[u8]>> {
        self.key.as_ref().ok_or(Error::NoLog)?;
        let address = Address::parse(address).ok_or(Error::NotInLog)?;
        if let Some(known) = self.pieces.get(&(level, address)).await {
            return Ok(known);
        }
        let tile = i64::try_from(address.index).map_err(Error::internal)?;
        let mut connection = self.infra.pool.acquire().await?;
        let stored = store::find_tile(&mut connection, level, tile).await?;
        drop(connection);
        let stored = stored.ok_or(Error::NotInLog)?;
        let piece: Arc<[u8]> = first(&stored, address.width).ok_or(Error::NotInLog)?.into();
        self.pieces.insert((level, address), Arc::clone(&piece)).await;
        Ok(piece)
    }
}
