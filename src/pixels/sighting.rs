//! Whether a page has a pixel on it.

use super::html::without_comments;
use super::pixel::InstallStatus;
use crate::infra::fetch::{FetchError, Page};
use crate::types::ids::{PixelId, PixelRef};

/// What one fetch of the home page gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    Present,
    Absent,
    Failed(FetchError),
}

impl Sighting {
    pub fn of(
        fetched: &Result<Page, FetchError>,
        pixel_id: &PixelId,
        aliases: &[PixelRef],
    ) -> Self {
        match fetched {
            Err(error) => Self::Failed(*error),
            Ok(page) if has_pixel(page, pixel_id, aliases) => Self::Present,
            Ok(Page { cut_short: Some(error), .. }) => Self::Failed(*error),
            Ok(_) => Self::Absent,
        }
    }

    /// A word for counting.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Failed(_) => "failed",
        }
    }

    /// A site that cannot be reached for once has not lost its pixel.
    pub fn status_after(self, before: InstallStatus) -> InstallStatus {
        match self {
            Self::Present => InstallStatus::Installed,
            Self::Absent => InstallStatus::NotInstalled,
            Self::Failed(_) if before == InstallStatus::Installed => InstallStatus::Installed,
            Self::Failed(_) => InstallStatus::Unreachable,
        }
    }

    pub fn error(self) -> Option<String> {
        match self {
            Self::Failed(error) => Some(error.to_string()),
            Self::Present | Self::Absent => None,
        }
    }
}

fn has_pixel(page: &Page, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
    let seen = without_comments(&page.bytes);
    names_pixel(&seen, page.cut_short.is_none(), pixel_id, aliases)
}

/// Whether the text has the pixel's id, or loads one of its scripts by an alias. An alias alone
/// may be any word.
pub fn names_pixel(text: &[u8], is_whole: bool, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
    let has = |name: &str| contains_token(text, name.as_bytes(), is_whole);
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

    fn sighting(text: &str, cut_short: Option<FetchError>) -> Sighting {
        let page = Page { cut_short, ..Page::of(text) };
        let id = PixelId::from("abcDEF123".to_owned());
        let alias = PixelRef::from("shop".to_owned());
        Sighting::of(&Ok(page), &id, &[alias])
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
            assert_eq!(sighting(page, None), Sighting::Present, "{page}");
        }
        for page in [
            "",
            "abcdef123",
            "abcDEF1234",
            "xabcDEF123",
            "-abcDEF123",
            "abcDEF123_",
            "abcDEF12",
            "<!-- <script data-pixel=abcDEF123> -->",
        ] {
            assert_eq!(sighting(page, None), Sighting::Absent, "{page}");
        }
    }

    #[test]
    fn an_alias_counts_in_the_address_of_a_script_only() {
        for page in ["\"https://x.example/px/shop.js\"", "'//tags.example/pixels/shop/p.js?v=1'"] {
            assert_eq!(sighting(page, None), Sighting::Present, "{page}");
        }
        for page in ["shop", "/px/shop2.js", "/px/myshop.js", "/ppx/shop.js", "/px/shop.json"] {
            assert_eq!(sighting(page, None), Sighting::Absent, "{page}");
        }
    }

    #[test]
    fn a_page_that_is_cut_short_is_judged_by_what_came() {
        let late = Some(FetchError::Timeout);
        assert_eq!(sighting("abcDEF123 and", late), Sighting::Present);
        assert_eq!(sighting("and abcDEF123", late), Sighting::Failed(FetchError::Timeout));
        assert_eq!(sighting("and", late), Sighting::Failed(FetchError::Timeout));
    }

    #[test]
    fn only_a_failed_check_keeps_an_installed_pixel_installed() {
        use InstallStatus::*;
        let failed = Sighting::Failed(FetchError::Connect);
        for before in [NotChecked, NotInstalled, Unreachable] {
            assert_eq!(failed.status_after(before), Unreachable);
        }
        assert_eq!(failed.status_after(Installed), Installed);
        assert_eq!(Sighting::Absent.status_after(Installed), NotInstalled);
        assert_eq!(Sighting::Present.status_after(Unreachable), Installed);
    }
}
