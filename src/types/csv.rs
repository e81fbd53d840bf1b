//! CSV tables (RFC 4180).

use csv::{Terminator, WriterBuilder};

use super::text_enum::text_enum;
use crate::error::{Error, FieldError, Result};

text_enum! {
    /// The form of an answer that is a list.
    pub enum Format {
        Json = "json",
        Csv = "csv",
    }
}

impl Format {
    pub fn read(text: Option<&str>) -> Result<Self, FieldError> {
        let Some(text) = text else { return Ok(Self::Json) };
        let unknown =
            || FieldError::new(&["query", "format"], "must be json or csv", "value_error");
        Self::parse(text).ok_or_else(unknown)
    }
}

/// Characters at the start of a formula, which spreadsheets evaluate and which can send the table
/// elsewhere (OWASP, "CSV injection").
const CALCULATED: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The rows as CSV lines. A cell that a spreadsheet would evaluate gets a leading apostrophe.
pub fn lines<R>(rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>>
where
    R: IntoIterator<Item: AsRef<str>>,
{
    let mut writer =
        WriterBuilder::new().terminator(Terminator::CRLF).flexible(true).from_writer(Vec::new());
    for row in rows {
        for cell in row {
            let cell = cell.as_ref();
            let written = match cell.starts_with(CALCULATED) {
                true => writer.write_field(format!("'{cell}")),
                false => writer.write_field(cell),
            };
            written.map_err(Error::internal)?;
        }
        writer.write_record(None::<&[u8]>).map_err(Error::internal)?;
    }
    writer.into_inner().map_err(Error::internal)
}

/// The last line of an interrupted table. It has one cell where other lines have more, so that the
/// table is not mistaken for a complete one.
pub const BROKEN_OFF: &[u8] = b"error: the table broke off here\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(text: &[u8]) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
        let rows = reader.records().map(|row| row.unwrap());
        rows.map(|row| row.iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn every_cell_is_read_back_as_it_was() {
        let cells = [
            "",
            " ",
            ",",
            "\"",
            "\"\"",
            "a\"b",
            "line\nfeed",
            "line\r\nfeed",
            "a\rb",
            "\0",
            "a\0b",
            "ünï",
            "\u{feff}x",
            "\u{202e}txt",
            "😀",
            "{\"a\": [1, 2]}",
            "'",
            "'=1",
            "a=1",
            "1-2",
            "\u{ff1d}1",
        ];
        let rows = cells.map(|cell| ["before", cell, "after"]);
        let text = lines(rows).unwrap();
        assert_eq!(read_back(&text), rows.map(|row| row.map(str::to_owned).to_vec()));
        assert!(text.ends_with(b"after\r\n"));
    }

    #[test]
    fn what_a_spreadsheet_would_calculate_is_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"a\",\"b\")"] {
            let rows = read_back(&lines([[formula, "x"]]).unwrap());
            assert_eq!(rows, [[format!("'{formula}"), "x".to_owned()]]);
        }
    }

    #[test]
    fn a_line_of_one_cell_ends_a_table_for_strict_readers() {
        let mut text = lines([["a", "b"], ["c", "d"]]).unwrap();
        text.extend_from_slice(BROKEN_OFF);
        let mut reader = csv::Reader::from_reader(&*text);
        assert!(reader.records().any(|row| row.is_err()));
    }
}
