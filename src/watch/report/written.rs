//! Writes a report into its folder: complete, or not at all.

use std::fs;
use std::io;
use std::path::Path;

use crate::clock::{Clock, rfc3339};
use crate::config::Secret;
use crate::proof::format::note::Signer;
use crate::proof::format::watch_report::{JSON, SCHEMA};
use crate::watch::options::Options;

use super::html::html;
use super::junit::junit;
use super::model::{BrowserFacts, NOT_COVERED, Outcome, Report};
use super::sarif::sarif;
use super::signature::{NOTE, sign};

/// The name in signature lines of watchers.
const WATCHER: &str = "assent-watch";

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{0} cannot be written: {1}")]
    Unwritable(String, io::Error),
    #[error("the key of the watcher is not valid")]
    Key,
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes the report of a run, signed with the watcher's key or with one that is made for the run.
pub fn write(
    options: &Options,
    outcome: Outcome,
    key: Option<&Secret>,
    folder: &Path,
) -> Result<Report, ReportError> {
    let seed = match key {
        Some(key) => hex::decode(key.expose()).map_err(|_| ReportError::Key)?,
        None => rand::random::<[u8; 32]>().to_vec(),
    };
    let signer = Signer::new(WATCHER, &seed).ok_or(ReportError::Key)?;
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        time: rfc3339(Clock::System.now()),
        watcher: signer.verifier().to_string(),
        browser: BrowserFacts { version: outcome.browser, sandbox: outcome.has_sandbox },
        seconds: options.observation.as_secs_f64(),
        not_covered: NOT_COVERED.map(str::to_owned).to_vec(),
        pages: outcome.pages,
    };
    let pictures = report.take_pictures();
    let mut files = vec![
        (JSON.to_owned(), serde_json::to_vec_pretty(&report)?),
        ("report.html".to_owned(), html(&report).into_bytes()),
        ("report.sarif".to_owned(), serde_json::to_vec_pretty(&sarif(&report))?),
        ("report.xml".to_owned(), junit(&report).into_bytes()),
    ];
    files.extend(pictures);
    let note = sign(&signer, &report.time, &files);
    write_all(folder, &files, &note)
        .map_err(|error| ReportError::Unwritable(folder.display().to_string(), error))?;
    Ok(report)
}

/// Files take their names after all of them were written, and the note comes last.
fn write_all(folder: &Path, files: &[(String, Vec<u8>)], note: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let part = |name: &str| folder.join(format!(".{name}.part"));
    let note = (NOTE.to_owned(), note.as_bytes().to_vec());
    let all = || files.iter().chain([&note]);
    for (name, bytes) in all() {
        fs::write(part(name), bytes)?;
    }
    let _ = fs::remove_file(folder.join(NOTE));
    for (name, _) in all() {
        fs::rename(part(name), folder.join(name))?;
    }
    Ok(())
}
