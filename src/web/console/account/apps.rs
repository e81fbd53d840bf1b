use rocket::{Route, post, routes};
use serde_json::{Value, json};

use crate::accounts::grants::{self, GrantView, OfGrant, RevokeGrant};
use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::role_name;

pub fn routes() -> Vec<Route> {
    routes![disconnect]
}

pub async fn rows(member: &Member<'_>) -> Result<Vec<Value>> {
    let own = &member.member;
    let row = |grant: GrantView| {
        json!({
            "may_end": own.role == Scope::Full || grant.made_by == own.address,
            "id": grant.grant_id,
            "name": grant.app,
            "host": grant.host,
            "may": role_name(grant.scope),
            "made_by": grant.made_by,
            "created": Message::DayOf(grant.created_at.0),
            "used": grant.last_used_at.map_or(tr("never"), |time| Message::DayOf(time.0)),
        })
    };
    Ok(grants::list_seen(&member.app.infra.pool, &member.app.infra.clock, own)
        .await?
        .into_iter()
        .map(row)
        .collect())
}

#[post("/console/account/apps/<grant_id>/end", data = "<_form>")]
async fn disconnect(member: Member<'_>, grant_id: &str, _form: Form) -> Result<Reply, Refusal> {
    // Members may always disconnect apps that they connected themselves; for others, the capability checks the scope.
    if !grants::end_own(&member.app.infra.pool, &member.app.infra.clock, &member.member, grant_id)
        .await?
    {
        member.ask::<RevokeGrant>(OfGrant { grant_id: grant_id.to_owned() }).await?;
    }
    Ok(Reply::to("/console/account?done=disconnected"))
}
