//! The language and the time zone of a mail: those that its reader has chosen. Only a mail that its reader has
//! asked for is in the language of a request, never a warning: whoever causes it must not choose its language.

use sqlx::PgConnection;

use crate::accounts::preferences;
use crate::error::Result;
use crate::infra::requested_language::Requested;
use crate::infra::smtp::Recipient;
use crate::infra::templates::language;

/// In English if the reader has chosen no language.
pub async fn of(connection: &mut PgConnection, address: &str) -> Result<Recipient> {
    in_language_of(connection, address, Requested::default()).await
}

/// In the language of a request if the reader has chosen none.
pub async fn in_language_of(
    connection: &mut PgConnection,
    address: &str,
    requested: Requested,
) -> Result<Recipient> {
    let chosen = preferences::find(connection, address).await?;
    let language = chosen.language.or(requested.0).unwrap_or_else(language::english);
    Ok(Recipient { language, time_zone: chosen.time_zone })
}

/// The language in which a person writes to another: the chosen one, or else that of the request.
pub async fn language_of_sender(connection: &mut PgConnection, address: &str) -> Result<Requested> {
    let chosen = preferences::find(connection, address).await?.language;
    Ok(Requested(chosen.or(Requested::current().0)))
}
