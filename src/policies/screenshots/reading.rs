//! Reading screenshots back.

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::store;
use super::view::ScreenshotPage;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::locales;
use crate::types::text::{page_limit, present};

/// The maximum and default number of screenshots of a page.
const MOST: i64 = 200;
const LIMIT: &str = "must be from 1 to 200";
const LANGUAGE: &str = "must be a language of the popup, such as de";

pub struct PageRequest {
    pub pixel_id: String,
    pub language: Option<String>,
    /// The `next_before` of the previous page.
    pub before: Option<String>,
    pub limit: Option<String>,
}

/// Reads a page of screenshots.
pub struct ListScreenshots;

impl Capability for ListScreenshots {
    const NAME: &'static str = "list_screenshots";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List screenshots",
        "Lists the pictures of the popup, per version, language and device, newest first.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = ScreenshotPage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong("limit", LIMIT)]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<ScreenshotPage> {
        let language = match present(request.language.as_deref()) {
            Some(text) => {
                Some(&*locales::named(text).ok_or_else(|| wrong("language", LANGUAGE))?.lang)
            }
            None => None,
        };
        let before = match present(request.before.as_deref()) {
            Some(text) => Some(
                text.parse::<Uuid>()
                    .map_err(|_| wrong("before", "must be the next_before of a page"))?,
            ),
            None => None,
        };
        let limit = match present(request.limit.as_deref()) {
            Some(text) => page_limit(text, MOST).ok_or_else(|| wrong("limit", LIMIT))?,
            None => MOST,
        };
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let listing =
            store::list_screenshots(&mut connection, &pixel_id, language, before, limit + 1);
        let mut screenshots = listing.await?;
        let limit = usize::try_from(limit).map_err(Error::internal)?;
        let has_more = screenshots.len() > limit;
        screenshots.truncate(limit);
        let next_before = screenshots.last().filter(|_| has_more).map(|last| last.screenshot_id);
        Ok(ScreenshotPage { pixel_id, screenshots, next_before })
    }
}

fn wrong(name: &str, wanted: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], wanted, "value_error")])
}

/// A screenshot of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfScreenshot {
    pub pixel_id: String,
    pub screenshot_id: String,
}

/// Reads one picture, as PNG.
pub struct ReadScreenshot;

impl Capability for ReadScreenshot {
    const NAME: &'static str = "read_screenshot";
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfScreenshot;
    type Output = Vec<u8>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::ScreenshotNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfScreenshot) -> Result<Vec<u8>> {
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let screenshot_id = request.screenshot_id.parse().map_err(|_| Error::ScreenshotNotFound)?;
        let mut connection = infra.pool.acquire().await?;
        let png = store::find_png(&mut connection, &pixel_id, screenshot_id).await?;
        png.ok_or(Error::ScreenshotNotFound)
    }
}
