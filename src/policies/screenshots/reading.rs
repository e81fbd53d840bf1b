use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::store;
use super::view::ScreenshotPage;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::ids::PixelParam;
use crate::types::ids::id_param::IdParam;
use crate::types::paging::{Page, wrong_limit};
use crate::types::{locales, parameter};

/// The maximum and default number of screenshots of a page.
const MOST: u16 = 200;
const LANGUAGE: &str = "must be a language of the popup, such as de";

pub struct PageRequest {
    pub pixel_id: PixelParam,
    pub language: Option<String>,
    /// The `next_before` of the previous page.
    pub before: Option<String>,
    pub limit: Option<String>,
}

pub struct ListScreenshots;

impl Capability for ListScreenshots {
    const NAME: &'static str = "list_screenshots";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List screenshots",
        "Lists the pictures of the popup, per version, language and device, newest first.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = ScreenshotPage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_limit(MOST)]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<ScreenshotPage> {
        let PageRequest { pixel_id, language, before, limit } = &request;
        let locale = parameter::read("language", language, LANGUAGE, locales::named)?;
        let language = locale.map(|locale| &*locale.lang);
        let page = Page::read("before", before, limit, MOST, |text| text.parse().ok())?;
        let pixel_id = find_for(&infra.pool, &caller, pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let (start, rows) = (page.start, page.rows());
        let listing = store::list_screenshots(&mut connection, &pixel_id, language, start, rows);
        let mut screenshots = listing.await?;
        let next_before = page.cut(&mut screenshots).map(|last| last.screenshot_id);
        Ok(ScreenshotPage { pixel_id, screenshots, next_before })
    }
}

/// A screenshot of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfScreenshot {
    pub pixel_id: PixelParam,
    pub screenshot_id: IdParam<Uuid>,
}

pub struct ReadScreenshot;

impl Capability for ReadScreenshot {
    const NAME: &'static str = "read_screenshot";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfScreenshot;
    type Output = Vec<u8>;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::ScreenshotNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfScreenshot) -> Result<Vec<u8>> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let screenshot_id = request.screenshot_id.into_id().ok_or(Error::ScreenshotNotFound)?;
        let mut connection = infra.pool.acquire().await?;
        let png = store::find_png(&mut connection, &pixel_id, screenshot_id).await?;
        png.ok_or(Error::ScreenshotNotFound)
    }
}
