//! The language and the time zone of a mail, as its recipient has chosen them. Without a choice, a mail that the
//! recipient requested is in the language of the request. A warning is not, because an attacker may have caused it.

use sqlx::PgConnection;

use crate::accounts::preferences;
use crate::error::Result;
use crate::infra::requested_language::Requested;
use crate::infra::smtp::Recipient;
use crate::infra::templates::language;

/// The recipient at an address. The language is English if the recipient has chosen none.
pub async fn of(connection: &mut PgConnection, address: &str) -> Result<Recipient> {
    in_language_of(connection, address, Requested::default()).await
}

/// Like [`of`], but the default is the language of a request.
pub async fn in_language_of(
    connection: &mut PgConnection,
    address: &str,
    requested: Requested,
) -> Result<Recipient> {
    let chosen = preferences::find(connection, address).await?;
    let language = chosen.language.or(requested.0).unwrap_or_else(language::english);
    Ok(Recipient { language, time_zone: chosen.time_zone })
}

/// The default language of a mail from one person to another: the sender's choice, or else that of the request.
pub async fn language_of_sender(connection: &mut PgConnection, address: &str) -> Result<Requested> {
    let chosen = preferences::find(connection, address).await?.language;
    Ok(Requested(chosen.or(Requested::current().0)))
}
