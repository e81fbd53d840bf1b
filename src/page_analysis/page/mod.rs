pub mod document;
pub mod element;
mod tree;
pub mod words;

use url::Url;

use self::document::Document;
use self::element::{Element, base_of};
use crate::infra::fetch::content::Content;
use crate::infra::fetch::{FetchError, GuardedFetch, Page, Unreadable};
use crate::types::ids::{PixelId, PixelRef};

#[derive(Debug)]
pub struct SitePage {
    /// Its address, after a redirect that was followed.
    pub address: Url,
    /// The values of its `Content-Security-Policy` headers.
    pub policies: Vec<String>,
    pub body: Body,
}

#[derive(Debug)]
pub enum Body {
    Read {
        document: Document,
        /// Parsed as HTML, not as XML.
        is_html: bool,
        /// The reason why the end is missing, if it is.
        cut_short: Option<FetchError>,
    },
    /// The bytes could not be decoded. They are kept only to search for the id.
    Unreadable { why: Unreadable, bytes: Vec<u8> },
}

impl SitePage {
    /// Fetches the home page of a host. Parsing can take seconds, so it runs on a blocking thread.
    pub async fn fetch(fetch: &GuardedFetch, host: &str) -> Result<Self, FetchError> {
        let page = fetch.home_page(host).await?;
        let reading = tokio::task::spawn_blocking(|| Self::of(page)).await;
        reading.map_err(|_| FetchError::Broken)
    }

    pub fn of(page: Page) -> Self {
        let Page { address, policies, content, cut_short } = page;
        let body = match content {
            Content::Unreadable { why, bytes } => Body::Unreadable { why, bytes },
            Content::Text { text, is_html } => {
                let document = Document::read(&text, cut_short.is_none());
                let unread = (!document.is_read_whole).then_some(Unreadable::TooDeep.into());
                Body::Read { document, is_html, cut_short: cut_short.or(unread) }
            }
        };
        Self { address, policies, body }
    }

    /// Whether a browser leaves the page for another one as soon as it is loaded.
    pub fn leads_elsewhere(&self) -> bool {
        let Body::Read { document, .. } = &self.body else { return false };
        let base = base_of(&document.elements, &self.address);
        let targets = document.elements.iter().filter_map(Element::refresh_target);
        let mut targets = targets.filter_map(|target| base.join(target).ok());
        targets.any(|mut target| {
            target.set_fragment(None);
            target != self.address
        })
    }

    pub fn names(&self, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
        match &self.body {
            Body::Read { document, .. } => words::names_pixel(&document.words, pixel_id, aliases),
            Body::Unreadable { bytes, .. } => {
                words::names_pixel(&String::from_utf8_lossy(bytes), pixel_id, aliases)
            }
        }
    }
}

#[cfg(test)]
impl SitePage {
    /// A home page of `shop.example` with this text.
    pub fn of_text(text: &str) -> Self {
        Self::cut_short(text, None)
    }

    pub fn cut_short(text: &str, cut_short: Option<FetchError>) -> Self {
        let address = Url::parse("https://shop.example/").expect("an address");
        let content = Content::Text { text: text.to_owned(), is_html: true };
        Self::of(Page { address, policies: Vec::new(), content, cut_short })
    }
}
