use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::error::Result;
use crate::proof::log::Log;
use crate::proof::proving::State;
use crate::proof::store::timestamps;

/// That an outside authority saw the log with the entry of the choice in it.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct TimestampProof {
    /// The authority's token (RFC 3161) as it came, base64: over the SHA-256 of the checkpoint at the end
    /// of `tlog_proof`.
    pub token: String,
    /// The entry's number and path in the log that was stamped, and its signed state.
    pub tlog_proof: String,
}

impl Log {
    /// The earliest token of a state that contains the entry, with the proof of inclusion; `None` if there is
    /// none yet.
    pub async fn prove_time(
        &self,
        connection: &mut PgConnection,
        entry: i64,
    ) -> Result<Option<TimestampProof>> {
        let signer = self.verifier()?.to_string();
        let stamped = timestamps::find_timestamp(connection, &signer, entry).await?;
        let Some(stamped) = stamped else { return Ok(None) };
        let state = State::of(stamped.size, stamped.checkpoint);
        let proof = state.prove_entry(connection, entry, None).await?;
        let token = BASE64_STANDARD.encode(stamped.token);
        Ok(Some(TimestampProof { token, tlog_proof: proof.tlog_proof }))
    }
}
