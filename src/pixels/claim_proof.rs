//! What proves that a host is somebody's: a record of its DNS, or a snippet on its home page.

use super::html::without_comments;
use super::look::BUSY_PAUSE;
use super::store::claims::Claim;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::FetchError;
use crate::types::ids::PixelId;

/// The name whose TXT record holds the token of a host's claim.
pub fn record_name(host: &str) -> String {
    format!("_assent.{host}")
}

/// Looks for the record, then at the page. No connection to the database is held meanwhile.
pub async fn is_given(infra: &Infra, claim: &Claim, token: &str) -> Result<bool> {
    let host = claim.domain.as_str();
    let records = infra.txt_lookup.records(&record_name(host)).await;
    if records.iter().any(|record| record.trim() == token) {
        return Ok(true);
    }
    match infra.fetch.home_page(host).await {
        Ok(page) => Ok(has_snippet(&page.bytes, &claim.pixel_id)),
        Err(FetchError::Busy) => Err(Error::Busy { retry_after: BUSY_PAUSE }),
        Err(_) => Ok(false),
    }
}

/// Whether a `<script>` of the page is one of the pixel's snippets. The id alone is no proof: on many
/// pages visitors can write words, on few of them tags.
fn has_snippet(page: &[u8], pixel_id: &PixelId) -> bool {
    let page = without_comments(page);
    let page = String::from_utf8_lossy(&page);
    let marks = [format!("/px/{pixel_id}.js"), format!("data-pixel=\"{pixel_id}\"")];
    let tags = page.split('<').filter_map(|rest| {
        let is_script = rest.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("script"));
        let tag = rest.split('>').next().unwrap_or_default();
        (is_script && tag[6..].starts_with(char::is_whitespace)).then_some(tag)
    });
    tags.into_iter().any(|tag| marks.iter().any(|mark| tag.contains(mark.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(page: &str) -> bool {
        has_snippet(page.as_bytes(), &PixelId::from("abcDEF123".to_owned()))
    }

    #[test]
    fn only_a_tag_of_the_pixel_proves_a_claim() {
        for page in [
            "<head><script async src=\"https://x.example/px/abcDEF123.js\"></script>",
            "<SCRIPT\nasync src='https://x.example/px/abcDEF123.js'></SCRIPT>",
            "a < b <script async src=\"https://x.example/pixel.js\" data-pixel=\"abcDEF123\"></script>",
        ] {
            assert!(has(page), "{page}");
        }
        for page in [
            "abcDEF123",
            "<p>https://x.example/px/abcDEF123.js</p>",
            "&lt;script src=\"https://x.example/px/abcDEF123.js\"&gt;",
            "<script src=\"https://x.example/px/abcDEF1234.js\"></script>",
            "<script src=\"https://x.example/px/abcDEF123x.js\"></script>",
            "<script>var comment = \"https://x.example/px/abcDEF123.js\";</script>",
            "<script>",
            "<script",
            "<!-- <script src=\"https://x.example/px/abcDEF123.js\"></script> -->",
            "<scripture src=\"https://x.example/px/abcDEF123.js\">",
        ] {
            assert!(!has(page), "{page}");
        }
    }
}
