use schemars::JsonSchema;
use serde::Deserialize;

use super::snippet::{self, CommerceAction, CommerceSnippet};
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::input::OnPixel;
use crate::pixels::setup;

/// For an action of a shop's visitors.
#[derive(Deserialize, JsonSchema)]
pub struct CommerceRequest {
    #[schemars(with = "CommerceAction")]
    pub action: String,
}

/// The lines that report an action of a shop's visitors.
pub struct GetCommerceSnippet;

impl Capability for GetCommerceSnippet {
    const NAME: &'static str = "get_commerce_snippet";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Get a commerce snippet",
        "Gives the lines that report one action of a shop's visitors, beside the pixel's own \
         snippet.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OnPixel<CommerceRequest>;
    type Output = CommerceSnippet;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::SnippetNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<CommerceRequest>,
    ) -> Result<CommerceSnippet> {
        let pixel = setup::find_for(&infra.pool, &caller, &pixel_id).await?;
        let action = CommerceAction::parse(&input.action).ok_or(Error::SnippetNotFound)?;
        Ok(snippet::commerce(action, pixel.pixel_id, infra.base_url()))
    }
}
