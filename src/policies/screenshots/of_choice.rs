//! The pictures of the popup that a choice answered.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::store;
use super::view::ScreenshotView;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::proof::format::entry::Kind;
use crate::proof::log::Log;
use crate::proof::proving::LogProof;
use crate::types::ids::PixelId;

/// A picture, with the proof that its hash is in the log if it is there.
#[derive(Serialize)]
pub struct LoggedScreenshot {
    #[serde(flatten)]
    pub view: ScreenshotView,
    #[serde(flatten)]
    pub proof: Option<LogProof>,
    #[serde(skip)]
    pub png: Vec<u8>,
}

/// The pictures of a version's popup in a language, in the form that it had at a time.
pub async fn list_of_choice(
    infra: &Infra,
    log: &Log,
    pixel_id: &PixelId,
    (version, language): (i32, &str),
    at: DateTime<Utc>,
) -> Result<Vec<LoggedScreenshot>> {
    let mut connection = infra.pool.acquire().await?;
    let views = store::list_at(&mut connection, pixel_id, version, language, at).await?;
    let state = match log.is_kept() && !views.is_empty() {
        true => Some(log.state(&mut connection).await?),
        false => None,
    };
    let mut logged = Vec::new();
    for view in views {
        let png = store::find_png(&mut connection, pixel_id, view.screenshot_id).await?;
        // It may have been deleted since it was listed.
        let Some(png) = png else { continue };
        let sha256 = hex::decode(&view.sha256).map_err(Error::internal)?;
        let proof = match &state {
            Some(state) => {
                let kind = Kind::Screenshot.as_str();
                match state.prove_publication(&mut connection, kind, &sha256).await {
                    Ok(proof) => proof,
                    Err(Error::NotSealedYet { .. }) => None,
                    Err(error) => return Err(error),
                }
            }
            None => None,
        };
        logged.push(LoggedScreenshot { view, proof, png });
    }
    Ok(logged)
}
