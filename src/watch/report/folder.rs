//! The folder of a report: its files replace those of an earlier one.

use std::fs;
use std::io;
use std::path::Path;

use super::signature::NOTE;
use crate::proof::format::watch_report::JSON;
use crate::visit::Visit;

pub const HTML: &str = "report.html";
pub const SARIF: &str = "report.sarif";
pub const JUNIT: &str = "report.xml";

/// The name of the picture of a page at the end of a visit. Pages count from 1.
pub fn picture_name(page: usize, visit: Visit) -> String {
    format!("{page}-{}.png", visit.name())
}

/// Writes the files of a report and its note, and removes the files of an earlier report. Files are renamed to their
/// final names after all have been written. Unfinished files are removed, also after an error.
pub fn write_all(folder: &Path, files: &[(String, Vec<u8>)], note: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let note = (NOTE.to_owned(), note.as_bytes().to_vec());
    let all = files.iter().chain([&note]).collect::<Vec<_>>();
    let written = write_and_rename(folder, &all);
    // A run that was killed may have left unfinished files with other names.
    let cleared = remove(folder, |name| unfinished(name).is_some_and(is_of_report));
    written.and(cleared)
}

fn write_and_rename(folder: &Path, files: &[&(String, Vec<u8>)]) -> io::Result<()> {
    let part = |name: &str| folder.join(format!(".{name}.part"));
    for (name, bytes) in files {
        fs::write(part(name), bytes)?;
    }
    let is_new = |name: &str| files.iter().any(|(new, _)| new == name);
    // The earlier note is removed first, so that files of two reports are never verified as one report.
    remove(folder, |name| name == NOTE || is_of_report(name) && !is_new(name))?;
    for (name, _) in files {
        fs::rename(part(name), folder.join(name))?;
    }
    Ok(())
}

fn remove(folder: &Path, is_unwanted: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&is_unwanted) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The final name of an unfinished file.
fn unfinished(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".part")
}

/// Whether a file of this name may be part of a report.
fn is_of_report(name: &str) -> bool {
    [JSON, HTML, SARIF, JUNIT, NOTE].contains(&name) || is_picture(name)
}

fn is_picture(name: &str) -> bool {
    let parts = name.strip_suffix(".png").and_then(|name| name.split_once('-'));
    let Some((page, visit)) = parts else { return false };
    let is_number = !page.is_empty() && page.bytes().all(|byte| byte.is_ascii_digit());
    is_number && Visit::ALL.iter().any(|known| known.name() == visit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names_in(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.into_string().unwrap()).collect()
    }

    fn files(names: &[&str]) -> Vec<(String, Vec<u8>)> {
        names.iter().map(|name| ((*name).to_owned(), b"new".to_vec())).collect()
    }

    #[test]
    fn a_report_replaces_an_earlier_one_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let others = [".env.part", "2-holiday.png", "-gpc.png", "cover.png", "report.pdf"];
        let earlier = [
            JSON,
            HTML,
            "1-gpc.png",
            "2-gpc.png",
            "13-accepted_then_withdrawn.png",
            ".report.sarif.part",
            ".2-blocked.png.part",
            ".report.note.part",
        ];
        for name in others.iter().chain(&earlier) {
            fs::write(folder.path().join(name), "earlier").unwrap();
        }
        let picture = picture_name(1, Visit::Gpc);
        let new = [JSON, SARIF, JUNIT, &picture];
        write_all(folder.path(), &files(&new), "signed").unwrap();
        let expected = others.iter().chain(&new).chain(&[NOTE]).map(|name| (*name).to_owned());
        assert_eq!(names_in(folder.path()), expected.collect::<BTreeSet<_>>());
        for name in new {
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"new", "{name}");
        }
        for name in others {
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"earlier", "{name}");
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_leaves_no_unfinished_file_and_no_note() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &files(&[JSON, HTML]), "signed").unwrap();
        // A file cannot replace a folder.
        fs::create_dir(folder.path().join(JUNIT)).unwrap();
        let written = write_all(folder.path(), &files(&[JSON, HTML, JUNIT]), "signed");
        assert!(written.is_err());
        let left = BTreeSet::from([HTML, JSON, JUNIT].map(str::to_owned));
        assert_eq!(names_in(folder.path()), left);
    }
}
