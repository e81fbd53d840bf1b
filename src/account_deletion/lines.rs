use serde::Serialize;

use crate::error::{Error, Result};
use crate::receipts::export::PIECE_BYTES;
use crate::types::ids::PixelId;

#[derive(Serialize)]
struct Line<'a, T> {
    record: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pixel_id: Option<&'a PixelId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<T>,
}

/// Writes items until the chunk is full; returns the position of the last one written.
pub fn write_page<T: Serialize, P>(
    lines: &mut Vec<u8>,
    record: &'static str,
    pixel_id: Option<&PixelId>,
    page: impl IntoIterator<Item = (P, T)>,
) -> Result<Option<P>> {
    let mut written = None;
    for (position, item) in page {
        write(lines, record, pixel_id, item)?;
        written = Some(position);
        if lines.len() >= PIECE_BYTES {
            break;
        }
    }
    Ok(written)
}

pub fn write<T: Serialize>(
    lines: &mut Vec<u8>,
    record: &'static str,
    pixel_id: Option<&PixelId>,
    data: impl Into<Option<T>>,
) -> Result<()> {
    let line = Line { record, pixel_id, data: data.into() };
    serde_json::to_writer(&mut *lines, &line).map_err(Error::internal)?;
    lines.push(b'\n');
    Ok(())
}
