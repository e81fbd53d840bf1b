use crate::infra::fetch::{FetchError, Unreadable};
use crate::page_analysis::diagnostics::is_challenge;
use crate::page_analysis::page::{Body, SitePage};
use crate::pixels::pixel::InstallStatus;
use crate::types::ids::{PixelId, PixelRef};

/// The result of one fetch of the home page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    Present,
    Absent,
    Failed(FetchError),
}

impl Observation {
    /// A pixel counts as absent only if the page was read completely. For a page that could not be
    /// interpreted, the check has failed.
    pub fn of(
        fetched: &Result<SitePage, FetchError>,
        pixel_id: &PixelId,
        aliases: &[PixelRef],
    ) -> Self {
        let page = match fetched {
            Err(error) => return Self::Failed(*error),
            Ok(page) if page.names(pixel_id, aliases) => return Self::Present,
            Ok(page) => page,
        };
        match &page.body {
            Body::Unreadable { why, .. } => Self::Failed((*why).into()),
            Body::Read { cut_short: Some(error), .. } => Self::Failed(*error),
            Body::Read { document, .. } if is_challenge(document) => {
                Self::Failed(Unreadable::Challenge.into())
            }
            Body::Read { .. } if page.leads_elsewhere() => {
                Self::Failed(FetchError::RedirectElsewhere)
            }
            Body::Read { .. } => Self::Absent,
        }
    }

    /// The label in the metrics.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Failed(_) => "failed",
        }
    }

    /// An installed pixel stays installed after a failed fetch, which may be temporary.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(text: &str, cut_short: Option<FetchError>) -> Observation {
        let page = SitePage::cut_short(text, cut_short);
        let id = PixelId::from("abcDEF123".to_owned());
        let alias = PixelRef::from("shop".to_owned());
        Observation::of(&Ok(page), &id, &[alias])
    }

    #[test]
    fn the_id_counts_everywhere_except_in_comments() {
        for page in [
            "abcDEF123",
            "<script data-pixel=abcDEF123>",
            "<script>s.src='https:\\/\\/x.example\\/px\\/abcDEF123.js'</script>",
            "<noscript><img src=/px/abcDEF123.js></noscript>",
        ] {
            assert_eq!(observation(page, None), Observation::Present, "{page}");
        }
        for page in [
            "",
            "abcdef123",
            "<!-- <script data-pixel=abcDEF123> -->",
            "<!-- a --!><!--abcDEF123-->",
            "<noscript><!-- abcDEF123 --></noscript>",
            "<p>abcDEF<br>123</p>",
            "<p>abcDEF<!-- -->123</p>",
        ] {
            assert_eq!(observation(page, None), Observation::Absent, "{page}");
        }
    }

    #[test]
    fn a_page_that_is_cut_short_is_judged_by_what_came() {
        let late = Some(FetchError::Timeout);
        assert_eq!(observation("abcDEF123 and", late), Observation::Present);
        assert_eq!(observation("and abcDEF123", late), Observation::Failed(FetchError::Timeout));
        assert_eq!(observation("and", late), Observation::Failed(FetchError::Timeout));
    }

    #[test]
    fn a_page_that_only_leads_to_another_one_proves_nothing() {
        let elsewhere = Observation::Failed(FetchError::RedirectElsewhere);
        for content in [
            "0; url=/en/",
            "0;URL='https://www.shop.example/'",
            "0 /en/",
            "3 , url = \"/en/\"",
            ".5;/en",
        ] {
            let page =
                format!("<meta http-equiv=Refresh content='{}'>", content.replace('\'', "&#39;"));
            assert_eq!(observation(&page, None), elsewhere, "{content}");
            assert_eq!(observation(&format!("{page}<p>abcDEF123"), None), Observation::Present);
        }
        for page in [
            "<meta http-equiv=refresh content=0>",
            "<meta http-equiv=refresh content='300; url=/en/'>",
            "<meta http-equiv=refresh content='0; url=/#top'>",
            "<meta http-equiv=refresh content='0; url='>",
            "<meta name=refresh content='0; url=/en/'>",
            "<meta http-equiv=refresh content='/en/'>",
            "<meta http-equiv=refresh content='now; url=/en/'>",
            "<meta http-equiv=refresh content='99999999999; url=/en/'>",
            "<noscript><meta http-equiv=refresh content='0; url=/en/'></noscript>",
            "<template><meta http-equiv=refresh content='0; url=/en/'></template>",
        ] {
            assert_eq!(observation(page, None), Observation::Absent, "{page}");
        }
    }

    #[test]
    fn a_page_that_nests_too_deeply_is_not_read_to_its_end() {
        let deep = format!("{}abcDEF123", "<div>".repeat(50_000));
        assert_eq!(observation(&deep, None), Observation::Failed(Unreadable::TooDeep.into()));
        let before = format!("<p>abcDEF123</p>{deep}");
        assert_eq!(observation(&before, None), Observation::Present);
    }

    #[test]
    fn only_a_failed_check_keeps_an_installed_pixel_installed() {
        use InstallStatus::*;
        let failed = Observation::Failed(FetchError::Connect);
        for before in [NotChecked, NotInstalled, Unreachable] {
            assert_eq!(failed.status_after(before), Unreachable);
        }
        assert_eq!(failed.status_after(Installed), Installed);
        assert_eq!(Observation::Absent.status_after(Installed), NotInstalled);
        assert_eq!(Observation::Present.status_after(Unreachable), Installed);
    }
}
