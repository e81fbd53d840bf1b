//! Storing pictures that were taken.

use sha2::{Digest, Sha256};

use super::due::{Due, Popup};
use super::store::{self, NewScreenshots};
use crate::error::Result;
use crate::infra::Infra;
use crate::policies::notice::plain_text;
use crate::proof::format::entry::Kind;
use crate::proof::publications;
use crate::types::device::Device;
use crate::types::ids::uuid_v7;
use crate::types::locales::Locale;

/// The largest picture, in bytes.
pub const MAX_PNG: usize = 512 << 10;
/// Forms of a popup whose pictures are kept.
const MOST_KEPT: i64 = 40;

pub struct Picture {
    pub locale: &'static Locale,
    pub device: Device,
    pub png: Vec<u8>,
}

/// Stores the pictures of a popup, and their hashes for the log; `false` if the popup has changed since it was taken
/// from those that are due.
pub async fn store_taken(
    infra: &Infra,
    due: &Due,
    popup: &Popup,
    pictures: Vec<Picture>,
) -> Result<bool> {
    let now = infra.clock.now();
    let mut new = NewScreenshots::default();
    for Picture { locale, device, png } in pictures {
        new.ids.push(uuid_v7(now));
        new.notices.push(Sha256::digest(plain_text(&popup.policy, locale)).to_vec());
        new.languages.push(locale.lang.clone());
        new.devices.push(device.as_str().to_owned());
        new.hashes.push(Sha256::digest(&png).to_vec());
        new.pngs.push(png);
    }
    let (pixel_id, times) = (&due.pixel_id, (due.configured_at, now));
    let mut transaction = infra.pool.begin().await?;
    if !store::due::delete_due(&mut transaction, due).await? {
        return Ok(false);
    }
    store::insert_screenshots(&mut transaction, pixel_id, &popup.policy, times, &new).await?;
    publications::note_all(&mut transaction, Kind::Screenshot, &new.hashes, now).await?;
    store::delete_older(&mut transaction, pixel_id, MOST_KEPT).await?;
    transaction.commit().await?;
    Ok(true)
}
