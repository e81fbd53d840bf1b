use std::fs::{self, File};
use std::path::Path;

use super::data_location::DataLocation;
use super::error::{EmbeddedPostgresError, one_line};
use super::programs::Programs;

const UNFINISHED: &str = "unfinished-";

/// Creates the cluster if it does not exist. It is created under a temporary name, so that an
/// interrupted start leaves no incomplete data.
pub(super) async fn create_cluster(
    programs: &Programs,
    location: &DataLocation,
    superuser: &str,
) -> Result<(), EmbeddedPostgresError> {
    remove_unfinished(location);
    let data = location.data();
    if data.exists() {
        return Ok(());
    }
    // `initdb` may outlive a killed service, so each start uses a different folder.
    let name = format!("{UNFINISHED}{}", std::process::id());
    let unfinished = location
        .create_folder(&name)
        .map_err(EmbeddedPostgresError::io("create a folder in", location.home()))?;
    run_initdb(programs, location, superuser, &unfinished).await?;
    fs::rename(&unfinished, &data)
        .and_then(|()| File::open(location.home())?.sync_all())
        .map_err(EmbeddedPostgresError::io("create the folder", &data))?;
    tracing::info!(folder = %data.display(), "created a PostgreSQL cluster");
    Ok(())
}

/// Ignores errors, because remaining files are harmless.
fn remove_unfinished(location: &DataLocation) {
    let entries = fs::read_dir(location.home()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

async fn run_initdb(
    programs: &Programs,
    location: &DataLocation,
    superuser: &str,
    folder: &Path,
) -> Result<(), EmbeddedPostgresError> {
    let output = location
        .command(&programs.initdb())
        .arg("-D")
        .arg(folder)
        .args(["--username", superuser])
        .args(["--auth-local=trust", "--auth-host=reject"])
        // Text is compared byte by byte, so that upgrades of the system's locales cannot invalidate indexes.
        .args(["--encoding=UTF8", "--locale=C"])
        .args(["--data-checksums", "--no-instructions"])
        .output()
        .await
        .map_err(EmbeddedPostgresError::io("start", &programs.initdb()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(EmbeddedPostgresError::ProgramFailed {
        program: "initdb",
        said: one_line(&String::from_utf8_lossy(&output.stderr)),
    })
}
