use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use tokio::task::spawn_blocking;

use super::due::{Due, MOST_PER_DAY};
use super::store;
use super::store::forms::NewForm;
use crate::clock::{Clock, rfc3339};
use crate::error::{Error, Result};
use crate::pixels;
use crate::policies::notice::plain_text;
use crate::policies::policy::Policy;
use crate::proof::format::entry::Kind;
use crate::proof::format::hashes::Hash;
use crate::proof::publications;
use crate::types::device::Device;
use crate::types::ids::uuid_v7;
use crate::types::locales::Locale;

/// The largest picture, in bytes.
pub const MAX_PNG: usize = 256 << 10;
/// Number of newest forms that are kept, which the daily limit counts, and of newest versions whose last form is kept.
const KEPT: (i64, i64) = (MOST_PER_DAY, 30);

pub struct Picture {
    pub locale: &'static Locale,
    pub device: Device,
    pub png: Vec<u8>,
}

/// Stores pictures of a popup, and their list's hash for the log; `false` if the pixel is deleted or has a new form.
pub async fn store_taken(
    pool: &PgPool,
    clock: &Clock,
    due: &Due,
    policy: Policy,
    script: Hash,
    pictures: Vec<Picture>,
) -> Result<bool> {
    let (pixel_id, taken, now) = (&due.pixel_id, due.clone(), clock.now());
    let form = spawn_blocking(move || form_of(&taken, &policy, script, pictures, now));
    let form = form.await.map_err(Error::internal)?;
    let mut transaction = pool.begin().await?;
    if !pixels::share_pixel(&mut transaction, pixel_id).await?
        || !store::due::delete_due(&mut transaction, due).await?
    {
        return Ok(false);
    }
    store::forms::insert_form(&mut transaction, pixel_id, &form).await?;
    publications::queue(&mut transaction, Kind::Screenshots, &form.list_sha256, now).await?;
    store::forms::delete_older(&mut transaction, pixel_id, KEPT).await?;
    transaction.commit().await?;
    Ok(true)
}

fn form_of(
    due: &Due,
    policy: &Policy,
    script: Hash,
    pictures: Vec<Picture>,
    taken_at: DateTime<Utc>,
) -> NewForm {
    let mut form = NewForm {
        configured_at: due.configured_at,
        taken_at,
        policy_version: policy.version,
        policy_hash: policy.hash.clone(),
        script,
        list: format!(
            "assent/screenshots/v1\npixel {}\npolicy {}\nscript {}\nconfigured {}\ntaken {}\n",
            due.pixel_id,
            policy.hash,
            hex::encode(script),
            rfc3339(due.configured_at),
            rfc3339(taken_at),
        ),
        list_sha256: Hash::default(),
        ids: Vec::new(),
        notices: Vec::new(),
        languages: Vec::new(),
        devices: Vec::new(),
        hashes: Vec::new(),
        pngs: Vec::new(),
    };
    let mut lines = Vec::new();
    for Picture { locale, device, png } in pictures {
        let notice = Sha256::digest(plain_text(policy, locale)).to_vec();
        let sha256 = Sha256::digest(&png).to_vec();
        let (language, device) = (&locale.lang, device.as_str());
        let (of_notice, of_png) = (hex::encode(&notice), hex::encode(&sha256));
        lines.push(format!("{language} {device} {of_notice} {of_png}\n"));
        form.ids.push(uuid_v7(taken_at));
        form.notices.push(notice);
        form.languages.push(language.clone());
        form.devices.push(device.to_owned());
        form.hashes.push(sha256);
        form.pngs.push(png);
    }
    lines.sort();
    form.list.extend(lines);
    form.list_sha256 = Sha256::digest(&form.list).into();
    form
}
