//! Whether a pixel is on its site: the service looks at the site's home page.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::host::SiteHost;
use super::pixel::{InstallStatus, Pixel, find_for};
use super::store;
use crate::accounts::Caller;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::ids::{PixelId, PixelRef};
use crate::platform::Platform;
use crate::platform::guarded_fetch::{FetchError, Page};

/// Seconds after which a fetch that found no place may be tried again.
const BUSY_PAUSE: u64 = 5;

/// The outcome of a check.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct InstallView {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    #[schema(required = true)]
    pub checked_at: Option<Timestamp>,
    /// What failed, in one short phrase, when the page could not be read.
    #[schema(required = true)]
    pub check_error: Option<String>,
}

impl From<Pixel> for InstallView {
    fn from(pixel: Pixel) -> Self {
        Self {
            pixel_id: pixel.pixel_id,
            domain: pixel.domain,
            install_status: pixel.install_status,
            checked_at: pixel.checked_at.map(Timestamp),
            check_error: pixel.check_error,
        }
    }
}

/// What one look at the home page gave.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Present,
    Absent,
    Failed(FetchError),
}

impl Finding {
    fn of(fetched: Result<Page, FetchError>, pixel_id: &PixelId, aliases: &[PixelRef]) -> Self {
        match fetched {
            Err(error) => Self::Failed(error),
            Ok(page) if names_pixel(&page, pixel_id, aliases) => Self::Present,
            Ok(Page { cut_short: Some(error), .. }) => Self::Failed(error),
            Ok(_) => Self::Absent,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Failed(_) => "failed",
        }
    }

    /// A site that cannot be reached for once has not lost its pixel.
    fn status_after(&self, before: InstallStatus) -> InstallStatus {
        match self {
            Self::Present => InstallStatus::Installed,
            Self::Absent => InstallStatus::NotInstalled,
            Self::Failed(_) if before == InstallStatus::Installed => InstallStatus::Installed,
            Self::Failed(_) => InstallStatus::Unreachable,
        }
    }

    fn error(&self) -> Option<String> {
        match self {
            Self::Failed(error) => Some(error.to_string()),
            Self::Present | Self::Absent => None,
        }
    }
}

/// Fetches the pixel's home page and keeps what was found.
pub async fn check_install(platform: &Platform, caller: &Caller, pixel_id: &str) -> Result<Pixel> {
    let pixel = find_for(platform, caller, pixel_id).await?;
    if !platform.config.install_check.enabled {
        return Err(Error::InstallCheckerOff);
    }
    let finding = look(platform, &pixel).await?;
    platform.metrics.install_checks.count(finding.kind());
    let mut transaction = platform.pool.begin().await?;
    let current =
        store::lock_pixel(&mut transaction, &pixel.pixel_id).await?.ok_or(Error::PixelNotFound)?;
    if current.domain != pixel.domain {
        // Renamed in the meantime: the new host has not been looked at.
        return Ok(current);
    }
    let status = finding.status_after(current.install_status);
    let now = platform.clock.now();
    let error = finding.error();
    let checked =
        store::update_install(&mut transaction, &pixel.pixel_id, status, now, error.as_deref())
            .await?;
    platform.changes.commit(transaction).await?;
    tracing::info!(pixel_id = %checked.pixel_id, status = status.as_str(), error, "install checked");
    Ok(checked)
}

/// No connection to the database is held while the site is asked.
async fn look(platform: &Platform, pixel: &Pixel) -> Result<Finding> {
    let aliases = {
        let mut connection = platform.pool.acquire().await?;
        store::list_aliases(&mut connection, &pixel.pixel_id).await?
    };
    match platform.fetch.home_page(pixel.domain.as_str()).await {
        Err(FetchError::Busy) => Err(Error::Busy { retry_after: BUSY_PAUSE }),
        fetched => Ok(Finding::of(fetched, &pixel.pixel_id, &aliases)),
    }
}

/// Whether the page has the pixel's id, or loads one of its scripts by an alias. An alias alone
/// may be any word.
fn names_pixel(page: &Page, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
    let is_whole = page.cut_short.is_none();
    let has = |text: &str| contains_token(&page.bytes, text.as_bytes(), is_whole);
    has(pixel_id.as_str())
        || aliases
            .iter()
            .any(|alias| has(&format!("px/{alias}.js")) || has(&format!("pixels/{alias}/p.js")))
}

/// Whether `text` stands in the page by itself, not as a part of something longer. At the end of
/// a page that is not whole nobody knows what follows.
fn contains_token(page: &[u8], text: &[u8], is_whole: bool) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    page.windows(text.len()).enumerate().any(|(start, window)| {
        let end = start + text.len();
        window == text
            && !page[..start].last().is_some_and(is_part)
            && page.get(end).map_or(is_whole, |byte| !is_part(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(text: &str, cut_short: Option<FetchError>) -> Finding {
        let page = Page { bytes: text.as_bytes().to_vec(), cut_short };
        let id = PixelId::from("abcDEF123".to_owned());
        let alias = PixelRef::from("shop".to_owned());
        Finding::of(Ok(page), &id, &[alias])
    }

    #[test]
    fn the_id_counts_as_a_whole_word_only() {
        for page in [
            "abcDEF123",
            "<script data-pixel=abcDEF123>",
            "/px/abcDEF123.js",
            "xabcDEF123 abcDEF123\n",
            "ä abcDEF123ä",
        ] {
            assert_eq!(finding(page, None), Finding::Present, "{page}");
        }
        for page in
            ["", "abcdef123", "abcDEF1234", "xabcDEF123", "-abcDEF123", "abcDEF123_", "abcDEF12"]
        {
            assert_eq!(finding(page, None), Finding::Absent, "{page}");
        }
    }

    #[test]
    fn an_alias_counts_in_the_address_of_a_script_only() {
        for page in ["\"https://x.example/px/shop.js\"", "'//tags.example/pixels/shop/p.js?v=1'"] {
            assert_eq!(finding(page, None), Finding::Present, "{page}");
        }
        for page in ["shop", "/px/shop2.js", "/px/myshop.js", "/ppx/shop.js", "/px/shop.json"] {
            assert_eq!(finding(page, None), Finding::Absent, "{page}");
        }
    }

    #[test]
    fn a_page_that_is_cut_short_is_judged_by_what_came() {
        let late = Some(FetchError::Timeout);
        assert_eq!(finding("abcDEF123 and", late), Finding::Present);
        assert_eq!(finding("and abcDEF123", late), Finding::Failed(FetchError::Timeout));
        assert_eq!(finding("and", late), Finding::Failed(FetchError::Timeout));
    }

    #[test]
    fn only_a_failed_look_keeps_an_installed_pixel_installed() {
        use InstallStatus::*;
        let failed = Finding::Failed(FetchError::Connect);
        for before in [NotChecked, NotInstalled, Unreachable] {
            assert_eq!(failed.status_after(before), Unreachable);
        }
        assert_eq!(failed.status_after(Installed), Installed);
        assert_eq!(Finding::Absent.status_after(Installed), NotInstalled);
        assert_eq!(Finding::Present.status_after(Unreachable), Installed);
    }
}
