//! Changes of a popup's appearance and settings, which no version of its policy contains.

mod store;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

use self::store::ChangeRow;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::pixels::pixel::Pixel;
use crate::policies::appearance::{Appearance, Corner, Position, ReopenButton};
use crate::policies::store::find_appearance;
use crate::types::ids::PixelId;

/// Maximum number of stored changes of a popup; older ones are deleted.
const KEPT: i64 = 100;
/// Maximum number of versions among the publications of a range of times.
const MOST_VERSIONS: i64 = 100;

/// The settings of a popup that its policy does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PopupSettings {
    pub appearance: Appearance,
    pub contacts_need_consent: bool,
    pub contacts_need_act: bool,
    pub share_subdomains: bool,
}

impl PopupSettings {
    fn of(pixel: &Pixel, appearance: Appearance) -> Self {
        Self {
            appearance,
            contacts_need_consent: pixel.contacts_need_consent,
            contacts_need_act: pixel.contacts_need_act,
            share_subdomains: pixel.share_subdomains,
        }
    }

    fn filled(self) -> Self {
        Self { appearance: filled(self.appearance), ..self }
    }

    /// Whether a popup with these settings looks the same in another appearance.
    pub fn looks_like(&self, appearance: &Appearance) -> bool {
        filled(self.appearance.clone()) == filled(appearance.clone())
    }
}

/// Sets defaults where nothing is set, so that appearances that look the same are equal.
fn filled(mut appearance: Appearance) -> Appearance {
    appearance.position.get_or_insert(Position::Bottom);
    let shown = ReopenButton { show: true, position: None };
    appearance.button.get_or_insert(shown).position.get_or_insert(Corner::BottomLeft);
    let colors = appearance.colors.take();
    appearance.colors = colors.filter(|colors| colors.light.is_some() || colors.dark.is_some());
    appearance
}

#[derive(Serialize)]
pub struct PopupChange {
    pub changed_at: Timestamp,
    pub policy_version: i32,
    pub before: Value,
    pub after: Value,
}

impl PopupChange {
    /// The settings before and after the change; `None` if a newer version of the service stored them.
    pub fn settings(&self) -> Option<[PopupSettings; 2]> {
        let read = |value: &Value| serde_json::from_value(value.clone()).ok();
        Some([read(&self.before)?, read(&self.after)?])
    }
}

impl From<ChangeRow> for PopupChange {
    fn from(row: ChangeRow) -> Self {
        Self {
            changed_at: Timestamp(row.changed_at),
            policy_version: row.policy_version,
            before: row.settings_before,
            after: row.settings_after,
        }
    }
}

/// The present settings. The caller must hold the lock on the pixel's row.
pub async fn find_settings(connection: &mut PgConnection, pixel: &Pixel) -> Result<PopupSettings> {
    let appearance = find_appearance(connection, pixel.pixel_id.as_str()).await?;
    // An unreadable appearance, stored by a newer version of the service, must not prevent a publication.
    let appearance = appearance.and_then(|value| serde_json::from_value(value).ok());
    Ok(PopupSettings::of(pixel, appearance.unwrap_or_default()))
}

/// Stores the change of the settings, if there is one. Without an appearance, the popup keeps its previous one.
pub async fn record(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel: &Pixel,
    policy_version: i32,
    before: PopupSettings,
    appearance: Option<Appearance>,
) -> Result<()> {
    let appearance = appearance.unwrap_or_else(|| before.appearance.clone());
    let (before, after) = (before.filled(), PopupSettings::of(pixel, appearance).filled());
    if before == after {
        return Ok(());
    }
    let change = ChangeRow {
        changed_at: now,
        policy_version,
        settings_before: serde_json::to_value(before).map_err(Error::internal)?,
        settings_after: serde_json::to_value(after).map_err(Error::internal)?,
    };
    store::insert_change(connection, &pixel.pixel_id, &change).await?;
    store::delete_older_changes(connection, &pixel.pixel_id, KEPT).await
}

/// The newest changes of a popup, newest first. The caller must have checked the access to the pixel.
pub async fn list(connection: &mut PgConnection, pixel_id: &PixelId) -> Result<Vec<PopupChange>> {
    let rows = store::list_changes(connection, pixel_id).await?;
    Ok(rows.into_iter().map(PopupChange::from).collect())
}

/// Like [`list`], with a connection of its own.
pub async fn read(pool: &PgPool, pixel_id: &PixelId) -> Result<Vec<PopupChange>> {
    let mut connection = pool.acquire().await?;
    list(&mut connection, pixel_id).await
}

/// The publication of a version of the notice, or of other settings without a new version.
#[derive(Clone, Copy, Debug)]
pub struct Publication {
    pub at: DateTime<Utc>,
    pub version: Option<i32>,
}

/// The publications in a range of times, oldest first. The caller must have checked the access to the pixel.
pub async fn list_publications(
    pool: &PgPool,
    pixel_id: &PixelId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Publication>> {
    let mut connection = pool.acquire().await?;
    let versions =
        store::list_published_between(&mut connection, pixel_id, from, until, MOST_VERSIONS);
    let versions = versions.await?.into_iter();
    let mut found = versions
        .map(|row| Publication { at: row.published_at, version: Some(row.version) })
        .collect::<Vec<_>>();
    for change in list(&mut connection, pixel_id).await? {
        let at = change.changed_at.0;
        let has_version = found.iter().any(|publication| publication.at == at);
        if (from..until).contains(&at) && !has_version {
            found.push(Publication { at, version: None });
        }
    }
    found.sort_by_key(|publication| publication.at);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(appearance: Value) -> PopupSettings {
        let appearance = serde_json::from_value(appearance).unwrap();
        PopupSettings { appearance, ..PopupSettings::default() }
    }

    #[test]
    fn defaults_that_are_named_change_nothing() {
        let usual = json!({"position": "bottom", "button": {"show": true}, "colors": {}});
        let usual = settings(usual);
        assert!(settings(json!({})).looks_like(&usual.appearance));
        assert_eq!(settings(json!({})).filled(), usual.filled());
        for other in [json!({"radius": 3}), json!({"button": {"show": false}})] {
            assert!(!settings(json!({})).looks_like(&settings(other).appearance));
        }
    }
}
