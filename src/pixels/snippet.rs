//! The lines that an integrator pastes into a site.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use tera::{Context, Tera};
use utoipa::ToSchema;

use super::pixel::Pixel;
use crate::ids::PixelId;
use crate::text_enum::text_enum;

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates([
        ("immediate.html", include_str!("../../templates/snippets/immediate.html.tera")),
        ("consent.html", include_str!("../../templates/snippets/consent.html.tera")),
        ("viewed_product", include_str!("../../templates/snippets/viewed_product.html.tera")),
        ("add_to_cart", include_str!("../../templates/snippets/add_to_cart.html.tera")),
        (
            "add_to_cart.button",
            include_str!("../../templates/snippets/add_to_cart.button.html.tera"),
        ),
        (
            "checkout_completed",
            include_str!("../../templates/snippets/checkout_completed.html.tera"),
        ),
        (
            "checkout_completed.button",
            include_str!("../../templates/snippets/checkout_completed.button.html.tera"),
        ),
    ])
    .expect("the snippet templates are valid");
    tera
});

/// Starts identification without a visitor's choice.
pub fn immediate(pixel_id: &PixelId, base_url: &str) -> String {
    render("immediate.html", pixel_id, base_url)
}

/// Asks the visitor first.
pub fn consent_tag(pixel_id: &PixelId, base_url: &str) -> String {
    render("consent.html", pixel_id, base_url)
}

/// The snippet that fits the pixel's present settings.
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

/// The commerce snippet of an action, made out for a pixel.
pub fn commerce(action: CommerceAction, pixel_id: PixelId, base_url: &str) -> CommerceSnippet {
    let name = action.as_str();
    let button = format!("{name}.button");
    let has_button = TEMPLATES.get_template_names().any(|template| template == button);
    CommerceSnippet {
        action,
        snippet: render(name, &pixel_id, base_url),
        button_snippet: has_button.then(|| render(&button, &pixel_id, base_url)),
        pixel_id,
    }
}

fn render(template: &str, pixel_id: &PixelId, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("pixel_id", pixel_id);
    context.insert("base_url", base_url);
    let snippet = TEMPLATES.render(template, &context).expect("the snippet templates render");
    snippet.trim_end().to_owned()
}
