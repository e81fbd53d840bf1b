//! The language and the time zone in which console pages and mails show texts and times to a person. They are
//! stored by address, and apply in all accounts of which the address is a member.

mod store;
pub mod zones;

use chrono_tz::Tz;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};

use crate::clock::Clock;
use crate::error::Result;
use crate::infra::templates::language::{self, Language};
use crate::types::ids::AccountId;

pub use store::{delete_unused, insert_copy};

#[derive(Clone, Copy)]
pub struct Preferences {
    /// `None` for the language of the browser.
    pub language: Option<&'static Language>,
    pub time_zone: Tz,
}

impl Default for Preferences {
    fn default() -> Self {
        Self { language: None, time_zone: Tz::UTC }
    }
}

impl Preferences {
    /// Unknown values are treated as not chosen.
    pub fn of_stored(language: Option<&str>, time_zone: Option<&str>) -> Self {
        Self {
            language: language.and_then(language::find),
            time_zone: time_zone.and_then(|name| name.parse().ok()).unwrap_or(Tz::UTC),
        }
    }

    fn stored_zone(&self) -> Option<&'static str> {
        (self.time_zone != Tz::UTC).then(|| self.time_zone.name())
    }
}

/// The preferences of an address; the defaults when it has chosen nothing.
pub async fn find(connection: &mut PgConnection, address: &str) -> Result<Preferences> {
    let row = store::find_preferences(connection, address).await?;
    let preferences =
        row.map(|row| Preferences::of_stored(row.language.as_deref(), row.time_zone.as_deref()));
    Ok(preferences.unwrap_or_default())
}

pub async fn save(pool: &PgPool, clock: &Clock, address: &str, chosen: Preferences) -> Result<()> {
    let (language, zone) = (chosen.language.map(|language| language.tag), chosen.stored_zone());
    let (now, mut connection) = (clock.now(), pool.acquire().await?);
    store::upsert_preferences(&mut connection, address, language, zone, now).await
}

/// Saves the language only. The time zone stays.
pub async fn save_language(
    pool: &PgPool,
    clock: &Clock,
    address: &str,
    language: &Language,
) -> Result<()> {
    let (now, mut connection) = (clock.now(), pool.acquire().await?);
    store::upsert_language(&mut connection, address, language.tag, now).await
}

/// The preferences of a member in the export of an account.
#[derive(Serialize)]
pub struct PreferencesLine {
    pub email: String,
    /// `None` for the language of the browser.
    pub language: Option<&'static str>,
    pub time_zone: &'static str,
}

/// The preferences that members of the account, and its own address, have chosen.
pub async fn export(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<PreferencesLine>> {
    let rows = store::list_preferences(connection, account_id).await?;
    let line = |row: store::Row| {
        let chosen = Preferences::of_stored(row.language.as_deref(), row.time_zone.as_deref());
        let language = chosen.language.map(|language| language.tag);
        PreferencesLine { email: row.address, language, time_zone: chosen.time_zone.name() }
    };
    Ok(rows.into_iter().map(line).collect())
}
