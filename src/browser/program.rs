use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::folder::RunFolder;
use super::user::is_open_to_all;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Scripts are smaller than this; browsers are larger.
const MAX_SCRIPT: u64 = 64 * 1024;

#[derive(Clone, Debug)]
pub struct Program(PathBuf);

impl Program {
    pub fn find(named: Option<&Path>, folder: &RunFolder) -> Result<Self, String> {
        let Some(named) = named else {
            let names = NAMES.iter().find_map(|name| in_path(name));
            let none = "no browser was found: install chromium, or name one with --browser";
            return names.map(Self).ok_or_else(|| none.to_owned());
        };
        let found = match named.components().count() {
            1 if !named.exists() => named.to_str().and_then(in_path),
            _ => fs::canonicalize(named).ok(),
        };
        let found = found.ok_or_else(|| format!("{} is not found", named.display()))?;
        if !is_program(&found) {
            return Err(format!("{} is no program", found.display()));
        }
        if folder.user().is_none() || is_reachable(&found) {
            return Ok(Self(found));
        }
        copied(&found, folder).map(Self)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn is_reachable(program: &Path) -> bool {
    let is_readable =
        fs::metadata(program).is_ok_and(|found| found.permissions().mode() & 0o005 == 0o005);
    is_readable && program.parent().is_some_and(is_open_to_all)
}

/// Copies a script that only root can read, so that the browser's user can run it.
fn copied(program: &Path, folder: &RunFolder) -> Result<PathBuf, String> {
    let unreadable =
        || format!("{} cannot be read by the user as whom the browser runs", program.display());
    let size = fs::metadata(program).map_err(|_| unreadable())?.len();
    let text = if size <= MAX_SCRIPT { fs::read(program).ok() } else { None };
    let text = text.filter(|text| text.starts_with(b"#!")).ok_or_else(unreadable)?;
    let copy = folder.path().join("browser");
    fs::write(&copy, text).map_err(|_| unreadable())?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&copy, mode).map_err(|_| unreadable())?;
    Ok(copy)
}
