//! CSV files that are streamed page by page, so that they are complete regardless of their length.

use futures_util::stream::{self, BoxStream, StreamExt};

use super::member::OwnedCaller;
use crate::error::Result;
use crate::types::csv::BROKEN_OFF;

/// Makes spreadsheets read the file as UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The lines of a page, and the cursor of the next page; `None` after the last.
pub struct PageOfLines {
    pub lines: Vec<u8>,
    pub next: Option<String>,
}

/// A source of pages. Each page is read with the permissions that the member has at that time.
pub trait Pages: Send + Sync + 'static {
    fn page(
        &self,
        caller: &OwnedCaller,
        from: Option<String>,
    ) -> impl Future<Output = Result<PageOfLines>> + Send;
}

/// Streams all pages as one table below `head`. A failure of the first page is returned as an error; a later one
/// ends the table with a line that says so.
pub async fn stream_of(
    caller: OwnedCaller,
    head: Vec<u8>,
    pages: impl Pages,
) -> Result<BoxStream<'static, Vec<u8>>> {
    let first = pages.page(&caller, None).await?;
    let begin = [BYTE_ORDER_MARK.as_bytes(), &head, &first.lines].concat();
    let rest = stream::unfold((first.next, caller, pages), |(next, caller, pages)| async {
        let from = next?;
        let (lines, next) = match pages.page(&caller, Some(from)).await {
            Ok(page) => (page.lines, page.next),
            Err(error) => {
                tracing::error!(%error, "a table broke off");
                (BROKEN_OFF.to_vec(), None)
            }
        };
        Some((lines, (next, caller, pages)))
    });
    Ok(stream::iter([begin]).chain(rest).boxed())
}
