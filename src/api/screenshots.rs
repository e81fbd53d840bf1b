use rocket::get;
use rocket::http::ContentType;
use utoipa::ToSchema;

use crate::error::Result;
use crate::http::call::Call;
use crate::http::described::described_routes;
use crate::http::listed::Listed;
use crate::http::query::Query;
use crate::infra::Infra;
use crate::policies::screenshots::reading::{
    ListScreenshots, OfScreenshot, PageRequest, ReadScreenshot,
};
use crate::policies::screenshots::view::ScreenshotPage;
use crate::types::ids::{PixelId, PixelParam};

described_routes![
    list_screenshots of ListScreenshots: [Infra],
    read_screenshot of ReadScreenshot: [Infra],
];

/// Bytes, for the description.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "it is made by nobody")]
struct Png(Vec<u8>);

/// Screenshots of the popup
///
/// One per language and device for each form that the popup was given, newest first; follow `next_before`
/// until it is null. There are none where no node of the service has a browser.
#[utoipa::path(
    tag = "Watch",
    params(
        ("pixel_id" = PixelId, Path),
        ("language" = Option<String>, Query, description = "Only those in this language."),
        ("before" = Option<uuid::Uuid>, Query, description = "The `next_before` of the page before."),
        ("limit" = Option<i64>, Query, minimum = 1, maximum = 200, description = "Screenshots of one page; 200 when left out."),
    ),
    responses((status = 200, description = "A page of them", body = ScreenshotPage)),
)]
#[get("/v1/pixels/<pixel_id>/screenshots")]
async fn list_screenshots(
    call: Call<'_, ListScreenshots>,
    pixel_id: PixelParam,
    query: Query,
) -> Result<Listed<ScreenshotPage>> {
    let text = |name| query.get(name).map(str::to_owned);
    let (language, before, limit) = (text("language"), text("before"), text("limit"));
    let request = PageRequest { pixel_id, language, before, limit };
    call.with(request).await.map(Listed)
}

/// A screenshot, as PNG
///
/// Its SHA-256 is its `sha256` among the screenshots.
#[utoipa::path(
    tag = "Watch",
    params(("pixel_id" = PixelId, Path), ("screenshot_id" = uuid::Uuid, Path)),
    responses((status = 200, description = "The picture", content_type = "image/png", body = Png)),
)]
#[get("/v1/pixels/<pixel_id>/screenshots/<screenshot_id>")]
async fn read_screenshot(
    call: Call<'_, ReadScreenshot>,
    pixel_id: PixelParam,
    screenshot_id: &str,
) -> Result<(ContentType, Vec<u8>)> {
    let screenshot_id = screenshot_id.into();
    let png = call.with(OfScreenshot { pixel_id, screenshot_id }).await?;
    Ok((ContentType::PNG, png))
}
