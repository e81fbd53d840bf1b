use serde_json::{Value, json};

use crate::accounts::passkeys::{self, MOST_PASSKEYS, PasskeyView};
use crate::error::Result;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::member::Member;

/// The passkeys on the account's screen; `None` if the service does not offer passkeys.
pub async fn section(member: &Member<'_>) -> Result<Option<Value>> {
    let infra = &member.app.infra;
    if !passkeys::are_offered(&infra.outbox) {
        return Ok(None);
    }
    let list = passkeys::list(&infra.pool, &member.member).await?;
    let row = |passkey: &PasskeyView| {
        json!({
            "id": passkey.passkey_id,
            "name": passkey.name,
            "created": Message::DayOf(passkey.created_at.0),
            "used": passkey.last_used_at.map_or(tr("never"), |time| Message::DayOf(time.0)),
        })
    };
    let rows = list.iter().map(row).collect::<Vec<_>>();
    Ok(Some(json!({ "is_full": rows.len() >= MOST_PASSKEYS, "rows": rows })))
}
