//! Takes screenshots of popups that have a new form, on nodes with a browser.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::delivery::bundles::Script;
use crate::delivery::configs::{Draft, TagConfig};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::policies::screenshots::due::{self, Due, Popup, find_popup};
use crate::policies::screenshots::taken::{MAX_PNG, Picture, store_taken};
use crate::types::device::Device;
use crate::types::ids::PixelId;
use crate::types::locales::{self, Locale};
use crate::watch::{
    OutputFolder, RunError, SCREENSHOTS_COMMAND, own_command, page_file, picture_file, run_to_end,
};

const LIMIT: Duration = Duration::from_secs(300);
const PROBLEMS: &str = "problems";
const MAX_PROBLEMS: u64 = 4096;

/// Takes all due screenshots, popup by popup, until one fails, because others would probably fail on this node too.
pub async fn take_all_due(infra: &Infra) -> Result<()> {
    if infra.config.watch_browser.is_none() {
        return Ok(());
    }
    while !infra.shutdown.has_begun()
        && let Some(due) = due::take(&infra.pool, &infra.clock).await?
    {
        match take(infra, &due).await {
            Ok(()) => {}
            Err(Error::DatabaseUnavailable) => return Err(Error::DatabaseUnavailable),
            Err(error) => {
                let pixel_id = &due.pixel_id;
                tracing::error!(?error, %pixel_id, "the screenshots of a popup could not be taken");
                return due::try_later(&infra.pool, &infra.clock, &due).await;
            }
        }
    }
    Ok(())
}

async fn take(infra: &Infra, due: &Due) -> Result<()> {
    let pixel_id = &due.pixel_id;
    let Some(popup) = find_popup(&infra.pool, &infra.clock, pixel_id).await? else { return Ok(()) };
    let pictures = match pictures(infra, pixel_id, &popup).await {
        Ok(pictures) => pictures,
        Err(RunError::Shutdown) => return due::put_back(&infra.pool, &infra.clock, due).await,
        Err(RunError::Failed(reason)) => return Err(Error::internal(reason)),
    };
    let (count, _guard) = (pictures.len(), infra.shutdown.delay());
    let script = Script::ConsentTag.served().sha256;
    let stored = store_taken(&infra.pool, &infra.clock, due, popup.policy, script, pictures);
    if stored.await? {
        tracing::info!(%pixel_id, count, "pictures of a popup stored");
    }
    Ok(())
}

async fn pictures(
    infra: &Infra,
    pixel_id: &PixelId,
    popup: &Popup,
) -> Result<Vec<Picture>, RunError> {
    let mut pages = Vec::new();
    for locale in locales::all() {
        let page = page(infra.base_url(), pixel_id, popup, locale);
        let page = page.map_err(|error| RunError::Failed(format!("{error:?}")))?;
        pages.push((page_file(&locale.lang), page));
    }
    let folder = OutputFolder::create()?;
    let path = folder.path().to_owned();
    let problems = in_background(move || write_pages(&path, &pages)).await?;
    let mut command = own_command(infra.config.watch_browser.as_deref())?;
    command.arg(SCREENSHOTS_COMMAND).arg(folder.path()).stderr(problems);
    let status = run_to_end(command, LIMIT, &infra.shutdown).await?;
    in_background(move || read_pictures(folder.path(), status)).await
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RunError> + Send + 'static,
) -> Result<T, RunError> {
    spawn_blocking(work).await.map_err(|error| RunError::Failed(error.to_string()))?
}

fn write_pages(folder: &Path, pages: &[(String, String)]) -> Result<File, RunError> {
    for (name, page) in pages {
        fs::write(folder.join(name), page)?;
    }
    Ok(File::create(folder.join(PROBLEMS))?)
}

fn read_pictures(folder: &Path, status: ExitStatus) -> Result<Vec<Picture>, RunError> {
    if !status.success() {
        let mut problems = Vec::new();
        File::open(folder.join(PROBLEMS))?.take(MAX_PROBLEMS).read_to_end(&mut problems)?;
        let problems = String::from_utf8_lossy(&problems);
        return Err(RunError::Failed(format!("the run ended with {status}: {}", problems.trim())));
    }
    let mut pictures = Vec::new();
    for locale in locales::all() {
        for &device in Device::ALL {
            let name = picture_file(&locale.lang, device);
            let png = fs::read(folder.join(&name))?;
            if png.len() > MAX_PNG {
                return Err(RunError::Failed(format!("{name} has {} bytes", png.len())));
            }
            pictures.push(Picture { locale, device, png });
        }
    }
    Ok(pictures)
}

/// An empty page with the popup. It records nothing, because a draft has no policy hash.
fn page(base_url: &str, pixel_id: &PixelId, popup: &Popup, locale: &Locale) -> Result<String> {
    let Popup { policy, appearance } = popup;
    let draft = Draft { pixel_id, text: &policy.text, appearance: appearance.as_ref() };
    let config = TagConfig::of_draft(base_url, &draft, locale);
    let script = Script::ConsentTag.with_config(&config)?.text();
    let Locale { lang, dir, .. } = locale;
    Ok(format!(
        "<!doctype html><html lang=\"{lang}\" dir=\"{dir}\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Popup</title>\
         <body style=\"font-family: system-ui, sans-serif\"><script>{script}</script>"
    ))
}
