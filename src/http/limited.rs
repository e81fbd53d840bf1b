use std::net::IpAddr;

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use super::client::client_address::client_address;
use super::problem;
use super::request_id::Arrival;
use crate::app::App;
use crate::error::{Error, Result};
use crate::infra::limits::client_net::ClientNet;
use crate::infra::limits::per_client::{Client, Limit};

pub fn client_of<'r>(request: &'r Request<'_>) -> Result<Client<'r>> {
    let app = request.rocket().state::<App>();
    let app = app.ok_or_else(|| Error::internal("no app is managed"))?;
    Ok(Client::new(&app.accounts.limits, net_of(request)))
}

pub fn count(request: &Request<'_>, limit: Limit) -> Result<()> {
    let taken = client_of(request)?.take(limit);
    let left = taken.as_ref().map_or(Some(limit.used_up()), |left| *left);
    let _ = Arrival::of(request).limits.set(left.into_iter().collect());
    Ok(taken.map(|_| ())?)
}

pub fn net_of(request: &Request<'_>) -> ClientNet {
    // Clients without an address (local ones) are counted together.
    ClientNet::of(client_address(request).unwrap_or(IpAddr::from([0, 0, 0, 0])))
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Client<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, client_of(request))
    }
}
