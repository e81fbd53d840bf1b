//! The lines that an integrator pastes into a site.

use std::sync::LazyLock;

use tera::{Context, Tera};

use super::pixel::Pixel;
use crate::ids::PixelId;

static TEMPLATES: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_templates([
        ("immediate.html", include_str!("../../templates/snippets/immediate.html.tera")),
        ("consent.html", include_str!("../../templates/snippets/consent.html.tera")),
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

fn render(template: &str, pixel_id: &PixelId, base_url: &str) -> String {
    let mut context = Context::new();
    context.insert("pixel_id", pixel_id);
    context.insert("base_url", base_url);
    let snippet = TEMPLATES.render(template, &context).expect("the snippet templates render");
    snippet.trim_end().to_owned()
}
