use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::filtering_proxy::FilteringProxy;
use super::options::Options;
use super::report::{Outcome, Page};
use crate::browser::site::{Site, host_of};
use crate::browser::tag_service::{Service, is_wanted, pixel_of};
use crate::browser::{Program, RunFolder, StartError};
use crate::verdict::{Case, Profiles, add_profile, evaluate, unconfirmed};
use crate::visit::{Observation, Setting, Visit, observe};

const PAGE: Duration = Duration::from_secs(180);
const AT_ONCE: usize = 2;
/// Maximum number of repeated visits per page. Visits are repeated to compare their values.
const MAX_REPEATED: usize = 3;

/// The reason why nothing was observed at all.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WatchError(String);

struct Run<'o> {
    options: &'o Options,
    folder: RunFolder,
    program: Program,
    no_sandbox: AtomicBool,
    profiles: AtomicU32,
    proxy: Option<FilteringProxy>,
}

/// Visits all pages. Fails if the browser cannot be started.
pub async fn watch(options: &Options) -> Result<Outcome, WatchError> {
    let folder = RunFolder::create().map_err(WatchError)?;
    let program = Program::find(options.browser.as_deref(), &folder).map_err(WatchError)?;
    let (no_sandbox, profiles) = (AtomicBool::new(false), AtomicU32::new(0));
    let proxy = match &options.exceptions {
        Some(exceptions) => Some(
            FilteringProxy::open(exceptions.clone())
                .await
                .map_err(|error| WatchError(format!("no proxy for the browser: {error}")))?,
        ),
        None => None,
    };
    let run = Run { options, folder, program, no_sandbox, profiles, proxy };
    let (mut pages, mut browser, mut has_sandbox) = (Vec::new(), String::new(), true);
    for url in &options.urls {
        let observations = run.visits(url).await?;
        if let Some(first) = observations.first() {
            browser.clone_from(&first.browser);
            has_sandbox &= first.has_sandbox;
        }
        pages.push(run.page(url, observations).await?);
    }
    Ok(Outcome { pages, browser, has_sandbox })
}

impl Run<'_> {
    async fn visits(&self, url: &Url) -> Result<Vec<Observation>, WatchError> {
        let end = Instant::now() + PAGE;
        let mut observations = Vec::<Observation>::new();
        for visits in Visit::ALL.chunks(AT_ONCE) {
            let service = self.service(&observations);
            let made = visits.iter().map(|&visit| self.visit(url, visit, service.clone(), end));
            for observation in join_all(made).await {
                observations.extend(observation?);
            }
        }
        Ok(observations)
    }

    /// `Ok(None)` if the time limit of the page has passed.
    async fn visit(
        &self,
        url: &Url,
        visit: Visit,
        service: Option<Service>,
        end: Instant,
    ) -> Result<Option<Observation>, WatchError> {
        for _ in 0..2 {
            let no_sandbox = self.no_sandbox.load(Ordering::Relaxed);
            let setting = Setting {
                program: &self.program,
                folder: &self.folder,
                url,
                observation: self.options.observation,
                service: service.clone().map(|service| service.host),
                pixels: &self.options.pixels,
                no_sandbox,
                proxy: self.proxy.as_ref().map(FilteringProxy::address),
            };
            let number = self.profiles.fetch_add(1, Ordering::Relaxed);
            match timeout_at(end, observe(&setting, visit, &number.to_string())).await {
                Err(_) => {
                    let profile = self.folder.path().join(number.to_string());
                    let _ = std::fs::remove_dir_all(profile);
                    return Ok(None);
                }
                Ok(Ok(observation)) => return Ok(Some(observation)),
                Ok(Err(StartError::NoSandbox)) => self.no_sandbox.store(true, Ordering::Relaxed),
                Ok(Err(StartError::Other(problem))) => return Err(WatchError(problem)),
            }
        }
        Err(WatchError("the browser has no sandbox and does not start without one".to_owned()))
    }

    /// The service in the options, else the host of the first tag that was seen, preferably of a wanted pixel.
    fn service(&self, observations: &[Observation]) -> Option<Service> {
        let named = self.options.service.as_ref().and_then(|url| Service::of(url.as_str()));
        named.or_else(|| {
            let tags = || observations.iter().filter_map(|observation| observation.tag.as_ref());
            let pixels = &self.options.pixels;
            let is_of_pixel =
                |url: &str| pixel_of(url).is_some_and(|name| is_wanted(&name, pixels));
            let wanted = tags().find(|tag| is_of_pixel(&tag.url));
            wanted.or_else(|| tags().next()).and_then(|tag| Service::of(&tag.url))
        })
    }

    async fn page(&self, url: &Url, visits: Vec<Observation>) -> Result<Page, WatchError> {
        let service = self.service(&visits);
        let mut profiles = Profiles::default();
        for observation in &visits {
            add_profile(&mut profiles, observation);
        }
        let end = Instant::now() + PAGE / 3;
        for _ in 0..MAX_REPEATED {
            let comparing = on_thread(move || (unconfirmed(&profiles), profiles));
            let (visit, compared) = comparing.await?;
            profiles = compared;
            let Some(visit) = visit else { break };
            let again = self.visit(url, visit, service.clone(), end).await?;
            let Some(again) = again else { break };
            add_profile(&mut profiles, &again);
        }
        let Options { allowed, pixels, .. } = self.options;
        let (allowed, pixels) = (allowed.clone(), pixels.clone());
        let (address, of_page) = (url.clone(), service.clone());
        let evaluating = on_thread(move || {
            let host = host_of(address.as_str()).unwrap_or_default();
            let case = Case {
                url: address.as_str(),
                site: Site::of_host(&host),
                service: of_page.as_ref(),
                allowed: &allowed,
                seen: visits.iter().map(|visit| &visit.seen).collect(),
                pixels: &pixels,
            };
            let verdicts = visits.iter().map(|visit| evaluate(&case, visit, &profiles));
            let verdicts = verdicts.collect::<Vec<_>>();
            drop(case);
            (visits, verdicts)
        });
        let (visits, verdicts) = evaluating.await?;
        Ok(Page::new(url, service.as_ref(), visits, verdicts))
    }
}

/// Runs long work on a thread, so that signals are handled meanwhile. A task of the runtime would delay the exit.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WatchError> {
    let (sender, done) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    done.await.map_err(|_| WatchError("the visits could not be compared".to_owned()))
}
