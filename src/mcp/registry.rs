use rocket::{State, get};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::described::described_routes;
use crate::http::json::Json;

described_routes![server_json];

/// A `server.json` of the MCP registry (schema of 2025-12-11).
#[derive(Serialize, ToSchema)]
pub struct ServerJson {
    #[serde(rename = "$schema")]
    schema: &'static str,
    /// The service's host, its labels in reverse order, and the program's name.
    name: String,
    title: &'static str,
    /// At most 100 characters.
    description: &'static str,
    version: &'static str,
    #[serde(rename = "websiteUrl")]
    website_url: String,
    /// Where it is, and which headers it takes.
    #[schema(value_type = Vec<Object>)]
    remotes: Value,
}

/// The tool server for registries
///
/// As the official MCP registry wants it published.
#[utoipa::path(
    tag = "Agents",
    responses((status = 200, description = "The description", body = ServerJson)),
)]
#[get("/server.json")]
fn server_json(app: &State<App>) -> Json<ServerJson> {
    let (host, base_url) = (app.infra.base_host(), app.infra.base_url());
    let namespace = host.split('.').rev().collect::<Vec<_>>().join(".");
    Json(ServerJson {
        schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        name: format!("{namespace}/assent"),
        title: "Assent",
        description: "Puts an identification pixel on a site, gated by visitors' consent, with signed receipts",
        version: env!("CARGO_PKG_VERSION"),
        website_url: base_url.to_owned(),
        remotes: json!([{
            "type": "streamable-http",
            "url": format!("{base_url}/mcp"),
            "headers": [{
                "name": "Authorization",
                "description": "Bearer and an API key; without it the tools take api_key as an argument, and signing up needs none",
                "isRequired": false,
                "isSecret": true,
            }],
        }]),
    })
}
