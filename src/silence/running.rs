use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use sqlx::PgPool;
use tokio::process::Command;

use super::given::{GivenReport, MAX_REPORT};
use crate::config::Config;
use crate::error;
use crate::infra::Infra;
use crate::pixels::list_aliases;
use crate::pixels::pixel::Pixel;
use crate::proof::format::watch_report::JSON;
use crate::types::ids::PixelRef;
use crate::watch::report::NOTE;
use crate::watch::{ON_NODE, OutputFolder, RunError, own_command, run_to_end};

/// The six visits of a page take at most 180 s, and their repetitions 60 s.
const LIMIT: Duration = Duration::from_secs(330);

/// Visits the home page of a pixel's site, and returns the report.
pub async fn run(
    infra: &Infra,
    pixel: &Pixel,
    allowed: &[String],
) -> Result<GivenReport, RunError> {
    let aliases = aliases(&infra.pool, pixel).await;
    let aliases = aliases.map_err(|error| RunError::Failed(error.to_string()))?;
    let folder = OutputFolder::create()?;
    let (config, base_url) = (&infra.config, infra.base_url());
    let command = command(config, base_url, pixel, &aliases, allowed, folder.path())?;
    let status = run_to_end(command, LIMIT, &infra.shutdown).await?;
    let (report, note) = (read(&folder.path().join(JSON)), read(&folder.path().join(NOTE)));
    match (report, note) {
        (Ok(report), Ok(note)) => Ok(GivenReport { report, note }),
        (Err(error), _) | (_, Err(error)) => {
            Err(RunError::Failed(format!("the run ended with {status}, and no report: {error}")))
        }
    }
}

/// The aliases under which the site may have installed the pixel.
async fn aliases(pool: &PgPool, pixel: &Pixel) -> error::Result<Vec<PixelRef>> {
    let mut connection = pool.acquire().await?;
    list_aliases(&mut connection, &pixel.pixel_id).await
}

fn command(
    config: &Config,
    base_url: &str,
    pixel: &Pixel,
    aliases: &[PixelRef],
    allowed: &[String],
    folder: &Path,
) -> Result<Command, RunError> {
    let mut command = own_command(config.watch_browser.as_deref())?;
    if let Some(key) = &config.watch_key {
        command.env("WATCH_KEY", key.expose());
    }
    let resolved = config.install_check.resolve.iter();
    let resolved = resolved.map(|(host, address)| format!("{host}={address}")).collect::<Vec<_>>();
    if !resolved.is_empty() {
        command.env("INSTALL_CHECK_RESOLVE", resolved.join(","));
    }
    command.env("BASE_URL", base_url);
    command.arg("watch").arg(format!("https://{}/", pixel.domain)).arg(format!("--{ON_NODE}"));
    command.arg("--out").arg(folder).arg(format!("--pixel={}", pixel.pixel_id));
    for alias in aliases {
        // A single argument, because an alias may begin with a hyphen.
        command.arg(format!("--pixel={alias}"));
    }
    for site in allowed {
        command.arg("--allow").arg(site);
    }
    Ok(command)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let most = MAX_REPORT as u64 + 1;
    File::open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}
