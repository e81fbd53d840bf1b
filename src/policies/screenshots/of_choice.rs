use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::store;
use super::view::ScreenshotView;
use crate::error::{Error, Result};
use crate::proof::format::entry::Kind;
use crate::proof::log::Log;
use crate::proof::proving::LogProof;
use crate::types::ids::PixelId;

/// The pictures of a form of a popup in one language.
pub struct FormScreenshots {
    pub pictures: Vec<(ScreenshotView, Vec<u8>)>,
    /// The list of the form's pictures in all languages.
    pub list: String,
    pub proof: Option<LogProof>,
}

/// The pictures of a version's popup in a language, in the form that it had at a time.
pub async fn find_of_choice(
    pool: &PgPool,
    log: &Log,
    pixel_id: &PixelId,
    (version, language): (i32, &str),
    at: DateTime<Utc>,
) -> Result<Option<FormScreenshots>> {
    let mut connection = pool.acquire().await?;
    let views = store::list_at(&mut connection, pixel_id, version, language, at).await?;
    let Some(first) = views.first() else { return Ok(None) };
    let form = first.configured_at.0;
    let list = store::forms::find_list(&mut connection, pixel_id, form).await?;
    let Some(list) = list else { return Ok(None) };
    let sha256 = hex::decode(&first.list_sha256).map_err(Error::internal)?;
    let proof = match log.is_kept() {
        true => prove(&mut connection, log, &sha256).await?,
        false => None,
    };
    let mut pictures = Vec::new();
    for view in views {
        let png = store::find_png(&mut connection, pixel_id, view.screenshot_id).await?;
        pictures.extend(png.map(|png| (view, png)));
    }
    Ok((!pictures.is_empty()).then_some(FormScreenshots { pictures, list, proof }))
}

async fn prove(
    connection: &mut PgConnection,
    log: &Log,
    sha256: &[u8],
) -> Result<Option<LogProof>> {
    let state = log.state(connection).await?;
    let kind = Kind::Screenshots.as_str();
    match state.prove_publication(connection, kind, sha256).await {
        Err(Error::NotSealedYet { .. }) => Ok(None),
        proof => proof,
    }
}
