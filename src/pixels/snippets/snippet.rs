use schemars::JsonSchema;
use serde::Serialize;
use tera::Context;
use utoipa::ToSchema;

use crate::infra::templates;
use crate::pixels::pixel::Pixel;
use crate::types::ids::PixelId;
use crate::types::text_enum::text_enum;

/// The snippet that starts identification without a visitor's choice.
pub fn immediate(pixel_id: &PixelId, base_url: &str) -> String {
    render("immediate", pixel_id, base_url)
}

/// The snippet that asks the visitor first.
pub fn consent_tag(pixel_id: &PixelId, base_url: &str) -> String {
    render("consent", pixel_id, base_url)
}

/// The snippet that asks on local hosts and test hosts, and records nothing about visitors.
pub fn test_tag(pixel_id: &PixelId, base_url: &str) -> String {
    consent_tag(&pixel_id.test_id(), base_url)
}

pub fn current(pixel: &Pixel, base_url: &str) -> String {
    match pixel.consent_enabled {
        true => consent_tag(&pixel.pixel_id, base_url),
        false => immediate(&pixel.pixel_id, base_url),
    }
}

text_enum! {
    /// What a shop may report beside the visit.
    pub enum CommerceAction {
        ViewedProduct = "viewed_product",
        AddToCart = "add_to_cart",
        CheckoutCompleted = "checkout_completed",
    }
}

/// The lines that report one action of a shop's visitors.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct CommerceSnippet {
    pub action: CommerceAction,
    pub pixel_id: PixelId,
    /// HTML to paste where the action has happened.
    pub snippet: String,
    /// A button that reports by itself, where there is one for the action.
    #[schema(required = true)]
    pub button_snippet: Option<String>,
}

pub fn commerce(action: CommerceAction, pixel_id: PixelId, base_url: &str) -> CommerceSnippet {
    let name = action.as_str();
    let button = format!("{name}.button");
    let has_button = templates::exists(&file_of(&button));
    CommerceSnippet {
        action,
        snippet: render(name, &pixel_id, base_url),
        button_snippet: has_button.then(|| render(&button, &pixel_id, base_url)),
        pixel_id,
    }
}

fn file_of(name: &str) -> String {
    format!("snippets/{name}.html")
}

fn render(name: &str, pixel_id: &PixelId, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("pixel_id", pixel_id);
    context.insert("base_url", base_url);
    let snippet = templates::render(&file_of(name), &context);
    snippet.expect("the snippet templates render").trim_end().to_owned()
}
