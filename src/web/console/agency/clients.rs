use rocket::{Route, post, routes};
use uuid::Uuid;

use super::all_sites::{ADDRESS, ClientForm, Listed, all_sites_screen};
use crate::accounts::clients::inviting::{InviteClient, Offer};
use crate::accounts::clients::own_invitations::{ResendOffer, cancel};
use crate::accounts::scope::Scope;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::sentence;

pub fn routes() -> Vec<Route> {
    routes![invite_client, resend_offer, cancel_offer]
}

const TOO_OLD: Message = tr("Sign in again first: your last sign-in was more than 15 minutes ago.");

#[post("/console/all-sites/clients", data = "<form>")]
async fn invite_client(member: Member<'_>, form: Form) -> Result<Reply, Refusal> {
    let (email, display_name) = (form.text("email"), form.text("display_name"));
    let role = form.get("role").and_then(Scope::parse).unwrap_or(Scope::Operate);
    let typed = ClientForm { email, display_name, role, ..ClientForm::default() };
    if !member.is_fresh() {
        let client = ClientForm { error: Some(TOO_OLD), ..typed };
        return Ok(all_sites_screen(&member, 403, &Listed::default(), &client).await?);
    }
    let (email, display_name) = (typed.email.clone(), typed.display_name.clone());
    match member.ask::<InviteClient>(Offer { email, display_name, role }).await {
        Ok(()) => Ok(Reply::to(format!("{ADDRESS}?done=invited#client"))),
        Err(error) if error.status() < 500 || matches!(error, Error::InvitationFailed) => {
            let (field, text) = (field_of(&error), sentence(&error));
            let client = ClientForm { field, error: Some(text), ..typed };
            let status = error.status();
            Ok(all_sites_screen(&member, status, &Listed::default(), &client).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The field that a refusal concerns.
fn field_of(error: &Error) -> &'static str {
    let names = |name: &str| match error {
        Error::Naming { fields, .. } => {
            let mut fields = fields.iter();
            fields.any(|field| field.loc.iter().any(|part| part.as_str() == name))
        }
        _ => false,
    };
    match error {
        Error::InvalidEmail | Error::InvitationFailed => "email",
        Error::DisplayNameRequired => "display_name",
        _ if names("email") => "email",
        _ if names("display_name") => "display_name",
        _ => "",
    }
}

fn id_of(text: &str) -> Result<Uuid> {
    text.parse().map_err(|_| Error::NotFound)
}

#[post("/console/all-sites/clients/<invitation_id>/resend", data = "<_form>")]
async fn resend_offer(
    member: Member<'_>,
    invitation_id: &str,
    _form: Form,
) -> Result<Reply, Refusal> {
    member.ask::<ResendOffer>(id_of(invitation_id)?).await?;
    Ok(Reply::to(format!("{ADDRESS}?done=resent#client")))
}

#[post("/console/all-sites/clients/<invitation_id>/cancel", data = "<_form>")]
async fn cancel_offer(
    member: Member<'_>,
    invitation_id: &str,
    _form: Form,
) -> Result<Reply, Refusal> {
    cancel(&member.app.infra.pool, &member.app.infra.clock, &member.member, id_of(invitation_id)?)
        .await?;
    Ok(Reply::to(format!("{ADDRESS}?done=cancelled#client")))
}
