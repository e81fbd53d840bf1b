use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::{EmbeddedPostgresError, OLDEST};

/// Debian and Ubuntu install each major version in `<here>/<major>/bin`, outside `PATH`.
const DEBIAN: &str = "/usr/lib/postgresql";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    folder: PathBuf,
    major: u32,
}

impl Programs {
    pub(super) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    pub(super) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    pub(super) fn newest(installed: &[Self]) -> Result<&Self, EmbeddedPostgresError> {
        // `max_by_key` returns the last of equal versions, but the first is preferred.
        let newest = installed.iter().rev().max_by_key(|programs| programs.major);
        match newest {
            None => Err(EmbeddedPostgresError::NotInstalled),
            Some(programs) if programs.major < OLDEST => {
                Err(EmbeddedPostgresError::TooOld { found: programs.major })
            }
            Some(programs) => Ok(programs),
        }
    }

    /// The programs that can open `data`: a major version reads only files of the same version.
    pub(super) fn for_data<'a>(
        installed: &'a [Self],
        data: &Path,
    ) -> Result<&'a Self, EmbeddedPostgresError> {
        let newest = Self::newest(installed)?;
        let Some(written_by) = major_of_data(data) else {
            return Ok(newest);
        };
        installed.iter().find(|programs| programs.major == written_by).ok_or_else(|| {
            EmbeddedPostgresError::OtherMajor {
                data: data.to_owned(),
                written_by,
                found: newest.major,
            }
        })
    }

    fn in_folder(folder: PathBuf) -> Option<Self> {
        if !folder.join("initdb").is_file() {
            return None;
        }
        let version = output_of(&folder.join("postgres"), "--version")?;
        let major = major_of_version(&version)?;
        Some(Self { folder, major })
    }
}

pub(super) fn installed() -> Vec<Programs> {
    let mut seen = BTreeSet::new();
    let by_pg_config = output_of(Path::new("pg_config"), "--bindir").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    by_pg_config
        .into_iter()
        .chain(versions_under(Path::new(DEBIAN)))
        .chain(env::split_paths(&path).filter(|folder| folder.is_absolute()))
        .filter(|folder| seen.insert(folder.clone()))
        .filter_map(Programs::in_folder)
        .collect()
}

fn versions_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let major = entry.file_name().to_str()?.parse().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn output_of(program: &Path, argument: &str) -> Option<String> {
    let output = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, also `17beta1` and `18devel`.
fn major_of_version(version: &str) -> Option<u32> {
    let number = version.split("(PostgreSQL)").nth(1)?.trim_start();
    let end = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

fn major_of_data(data: &Path) -> Option<u32> {
    let version = fs::read_to_string(data.join("PG_VERSION")).ok()?;
    version.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(major: u32) -> Programs {
        Programs { folder: PathBuf::from(format!("/usr/lib/postgresql/{major}/bin")), major }
    }

    fn data_of(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("PG_VERSION"), version).unwrap();
        folder
    }

    #[test]
    fn the_major_version_is_read_from_what_postgres_says() {
        for (said, major) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15),
            ("postgres (PostgreSQL) 14.2", 14),
            ("postgres (PostgreSQL) 18beta1", 18),
            ("postgres (PostgreSQL) 9.6.24", 9),
        ] {
            assert_eq!(major_of_version(said), Some(major), "{said}");
        }
        assert_eq!(major_of_version("something else"), None);
    }

    #[test]
    fn new_data_are_made_with_the_newest_programs() {
        let installed = [programs(15), programs(17), programs(16)];
        let folder = tempfile::tempdir().unwrap();
        let chosen = Programs::for_data(&installed, folder.path()).unwrap();
        assert_eq!(chosen.major, 17);
    }

    #[test]
    fn of_equal_versions_the_one_found_first_is_taken() {
        let elsewhere = Programs { folder: PathBuf::from("/usr/local/bin"), major: 15 };
        let installed = [programs(15), elsewhere];
        assert_eq!(Programs::newest(&installed).unwrap(), &installed[0]);
    }

    #[test]
    fn data_are_opened_with_the_programs_of_their_own_version() {
        let installed = [programs(17), programs(15)];
        let data = data_of("15\n");
        let chosen = Programs::for_data(&installed, data.path()).unwrap();
        assert_eq!(chosen.major, 15);
    }

    #[test]
    fn data_of_a_version_that_is_gone_say_what_to_install() {
        let data = data_of("14\n");
        let error = Programs::for_data(&[programs(17)], data.path()).unwrap_err();
        let sentence = error.to_string();
        assert!(sentence.contains("written by PostgreSQL 14"), "{sentence}");
        assert!(sentence.contains("postgresql-14"), "{sentence}");
    }

    #[test]
    fn no_programs_and_too_old_programs_name_both_remedies() {
        for installed in [&[][..], &[programs(13)][..]] {
            let sentence = Programs::newest(installed).unwrap_err().to_string();
            assert!(sentence.contains("install"), "{sentence}");
            assert!(sentence.contains("DATABASE_URL"), "{sentence}");
        }
    }
}
