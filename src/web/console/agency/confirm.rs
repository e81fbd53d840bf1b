//! The page on which a client confirms an account or declines it. The link in the mail authorises the client; no
//! sign-in is needed.

use rocket::{Route, get, post, routes};
use rocket_dyn_templates::context;

use crate::accounts::account::TRIAL;
use crate::accounts::clients::confirming::{ConfirmOffer, ConfirmedClient, decline, find_offer};
use crate::error::{Error, Result};
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::form::OpenForm;
use crate::web::console::kit::member::Visitor;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;
use crate::web::console::kit::words::{price, role_name};

pub fn routes() -> Vec<Route> {
    routes![show_offer, confirm_offer, decline_offer]
}

const TEMPLATE: &str = "console/client_offer.html";

#[get("/console/clients/confirm")]
async fn show_offer(visitor: Visitor<'_>, query: Query) -> Result<Reply, Refusal> {
    let Some(token) = query.present("token") else { return Ok(Reply::to("/console")) };
    let found = match find_offer(&visitor.app.infra.pool, &visitor.app.infra.clock, token).await {
        Ok(found) => found,
        Err(Error::NotFound) => return Ok(ended(&visitor)),
        Err(error) => return Err(error.into()),
    };
    let invitation = &found.invitation;
    let content = context! {
        step: "offer",
        token,
        asker: &invitation.asker,
        asker_name: &found.asker_name,
        display_name: &invitation.display_name,
        client: &invitation.client,
        role: role_name(invitation.role),
        price: price(),
        trial_days: TRIAL.num_days(),
        until: Message::Moment(invitation.expires_at),
    };
    Ok(visitor.page(200, TEMPLATE, tr("Confirm your account"), content))
}

fn ended(visitor: &Visitor<'_>) -> Reply {
    let content = context! { step: "ended" };
    visitor.page(404, TEMPLATE, tr("This link does not work"), content)
}

#[post("/console/clients/confirm", data = "<form>")]
async fn confirm_offer(visitor: Visitor<'_>, form: OpenForm) -> Result<Reply, Refusal> {
    match visitor.ask::<ConfirmOffer>(form.text("token")).await {
        Ok(ConfirmedClient { email, asker }) => {
            let content = context! { step: "confirmed", client: email, asker };
            Ok(visitor.page(200, TEMPLATE, tr("Account confirmed"), content))
        }
        Err(Error::NotFound) => Ok(ended(&visitor)),
        Err(error) => Err(error.into()),
    }
}

#[post("/console/clients/decline", data = "<form>")]
async fn decline_offer(visitor: Visitor<'_>, form: OpenForm) -> Result<Reply, Refusal> {
    match decline(&visitor.app.infra.pool, &visitor.app.infra.clock, &form.text("token")).await {
        Ok(asker) => {
            let content = context! { step: "declined", asker };
            Ok(visitor.page(200, TEMPLATE, tr("Offer declined"), content))
        }
        Err(Error::NotFound) => Ok(ended(&visitor)),
        Err(error) => Err(error.into()),
    }
}
