//! Tables that are written page by page, so that a file is complete however many lines it has.

use futures_util::stream::{self, BoxStream, StreamExt};

use super::member::Asker;
use crate::error::Result;
use crate::types::csv::BROKEN_OFF;

/// Makes spreadsheets read the file as UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The lines of a page, and where the next page begins; `None` after the last.
pub struct PageOfLines {
    pub lines: Vec<u8>,
    pub next: Option<String>,
}

/// A source of pages, read with the rights of a member as they are when each page is read.
pub trait Pages: Send + Sync + 'static {
    fn page(
        &self,
        asker: &Asker,
        from: Option<String>,
    ) -> impl Future<Output = Result<PageOfLines>> + Send;
}

/// All pages as one table below `head`. A refusal of the first page is an error; a later failure ends the
/// table with a line that says so.
pub async fn stream_of(
    asker: Asker,
    head: Vec<u8>,
    pages: impl Pages,
) -> Result<BoxStream<'static, Vec<u8>>> {
    let first = pages.page(&asker, None).await?;
    let begin = [BYTE_ORDER_MARK.as_bytes(), &head, &first.lines].concat();
    let rest = stream::unfold((first.next, asker, pages), |(next, asker, pages)| async {
        let from = next?;
        let (lines, next) = match pages.page(&asker, Some(from)).await {
            Ok(page) => (page.lines, page.next),
            Err(error) => {
                tracing::error!(%error, "a table broke off");
                (BROKEN_OFF.to_vec(), None)
            }
        };
        Some((lines, (next, asker, pages)))
    });
    Ok(stream::iter([begin]).chain(rest).boxed())
}
