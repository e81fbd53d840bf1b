//! `assent watch`: visits pages with a browser, and writes a signed report.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use assent::config::{Config, Secret};
use assent::infra::log_output;
use assent::proof::format::note::Verifier;
use assent::watch::report::{Report, verify, write};
use assent::watch::{
    Exceptions, ON_NODE, Options, lower_priority, parse_allowed, parse_url, take_screenshots, watch,
};
use clap::Args;
use tokio::sync::oneshot;
use url::Url;

use super::failure::Failure;
use super::output::print;
use super::serve;
use super::service::Service;
use super::signals::StopSignals;

/// The exit code of a run that could not observe the pages.
const UNOBSERVED: u8 = 2;
const MAX_SECONDS: f64 = 60.0;

#[derive(Args)]
pub struct Arguments {
    /// The pages to visit
    #[arg(required = true, value_name = "URL", value_parser = parse_url)]
    urls: Vec<Url>,
    /// The pixel whose tag must be on the pages; may be repeated with its aliases
    #[arg(long = "pixel", value_name = "ID")]
    pixels: Vec<String>,
    /// The address of the service; without it, the host of the tag's script
    #[arg(long, value_name = "BASE", value_parser = parse_url)]
    service: Option<Url>,
    /// The folder for the report
    #[arg(long, value_name = "FOLDER", default_value = "watch-report")]
    out: PathBuf,
    /// The browser to start: Chromium, or a script that starts it with more arguments
    #[arg(long, value_name = "PATH")]
    browser: Option<PathBuf>,
    /// How long each visit is observed
    #[arg(long, value_name = "N", default_value = "4", value_parser = parse_seconds)]
    seconds: Duration,
    /// A site or host whose requests are listed separately, subdomains included; may be repeated
    #[arg(long, value_name = "SITE", value_parser = parse_allowed)]
    allow: Vec<String>,
    /// Reach only public addresses, and end with the input
    #[arg(long = ON_NODE, hide = true)]
    on_node: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=MAX_SECONDS).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number from 0.1 to 60".to_owned())
}

/// Returns 0 if the pages are silent, 1 if anything leaked, and 2 if something could not be observed.
pub fn run(arguments: Arguments) -> ExitCode {
    if arguments.on_node {
        lower_priority();
    }
    let done = Config::from_env()
        .map_err(Failure::from)
        .and_then(|config| serve::runtime(2)?.block_on(observe(config, arguments)));
    match done {
        Ok(code) => ExitCode::from(code),
        Err(Failure(sentence)) => {
            log_output::write_line(&format!("assent: {sentence}"));
            ExitCode::from(UNOBSERVED)
        }
    }
}

async fn observe(config: Config, arguments: Arguments) -> Result<u8, Failure> {
    let Arguments { urls, pixels, service, out, browser, seconds, allow, on_node } = arguments;
    let mut signals = StopSignals::listen()?;
    let account = service.as_ref().map(|address| Service { address, key: config.api_key.as_ref() });
    let pixel = pixels.first().map(String::as_str);
    let allowed = tokio::select! {
        allowed = allowed_by_owner(account.as_ref(), pixel) => allowed,
        () = signals.received() => return Err(stopped()),
    };
    // A node uses its own service, regardless of the script that the page loads.
    let own = config.base_url.as_deref().filter(|_| on_node).and_then(|base| Url::parse(base).ok());
    let options = Options {
        urls,
        pixels,
        service: service.clone().or(own),
        browser: browser.or(config.watch_browser),
        observation: seconds,
        allowed: [allow, allowed].concat(),
        exceptions: on_node
            .then(|| Exceptions::new(config.base_url.as_deref(), &config.install_check.resolve)),
    };
    let input = on_node.then(end_of_input);
    let outcome = tokio::select! {
        outcome = watch(&options) => outcome?,
        () = signals.received() => return Err(stopped()),
        () = has_ended(input) => return Err(ended()),
    };
    let report = write(&options, outcome, config.watch_key.as_ref(), &out)?;
    print(summary(&report, &out, config.watch_key.as_ref()))?;
    if let Some(service) = account {
        let pixel = options.pixels.first().map(String::as_str);
        match service.submit(pixel, &report, &out).await {
            Ok(sentence) => print(format_args!("{sentence}\n"))?,
            Err(reason) => {
                log_output::write_line(&format!("assent: the report was not submitted: {reason}"));
            }
        }
    }
    Ok(report.exit_code())
}

/// Takes the screenshots of the popups in a folder. Ends early when standard input is closed.
pub fn screenshots(folder: &Path) -> Result<ExitCode, Failure> {
    lower_priority();
    let config = Config::from_env()?;
    serve::runtime(1)?.block_on(take(&config, folder))?;
    Ok(ExitCode::SUCCESS)
}

async fn take(config: &Config, folder: &Path) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    tokio::select! {
        taken = take_screenshots(folder, config.watch_browser.as_deref()) => taken.map_err(Failure),
        () = signals.received() => Err(stopped()),
        () = has_ended(Some(end_of_input())) => Err(ended()),
    }
}

fn ended() -> Failure {
    Failure("the node has ended".to_owned())
}

fn stopped() -> Failure {
    Failure("stopped by a signal".to_owned())
}

/// The hosts that the owner of the pixel allows; empty without a key or a pixel.
async fn allowed_by_owner(service: Option<&Service<'_>>, pixel: Option<&str>) -> Vec<String> {
    let (Some(service), Some(pixel)) = (service.filter(|service| service.key.is_some()), pixel)
    else {
        return Vec::new();
    };
    service.allowed(pixel).await.unwrap_or_else(|reason| {
        let problem = format!("assent: the sites that the owner allows are unknown: {reason}");
        log_output::write_line(&problem);
        Vec::new()
    })
}

/// Completes when standard input is closed. A thread reads it, because a task that reads would delay the end of
/// the program.
fn end_of_input() -> oneshot::Receiver<()> {
    let (sender, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = sender.send(());
    });
    ended
}

async fn has_ended(ended: Option<oneshot::Receiver<()>>) {
    match ended {
        Some(ended) => drop(ended.await),
        None => std::future::pending().await,
    }
}

fn summary(report: &Report, folder: &Path, key: Option<&Secret>) -> String {
    let mut text = String::new();
    for page in &report.pages {
        let _ = writeln!(text, "{}", page.url);
        for visit in &page.visits {
            let name = visit.visit.name();
            let verdict = match (visit.silent, visit.leaks.len(), &visit.unobserved) {
                (Some(true), ..) => "silent".to_owned(),
                (_, 0, reason) => {
                    format!("not observed: {}", reason.as_deref().unwrap_or_default())
                }
                (_, 1, _) => "1 leak".to_owned(),
                (_, count, _) => format!("{count} leaks"),
            };
            let _ = writeln!(text, "  {name}: {verdict}");
            for leak in &visit.leaks {
                let (kind, host, at) = (leak.kind.name(), &leak.host, leak.at_ms);
                let name = leak.identifier.as_ref().map(|facts| facts.name.as_str());
                let what = name.unwrap_or(&leak.url);
                let _ = writeln!(text, "    {kind} {host} after {at} ms: {}", shown(what));
            }
        }
    }
    if !report.browser.sandbox {
        text.push_str("The browser ran without a sandbox: this machine has no user namespaces.\n");
    }
    if key.is_none() {
        let _ = writeln!(text, "Signed with a key made for this run: {}", report.watcher);
    }
    let _ = writeln!(text, "Report: {}", folder.join("report.html").display());
    text
}

/// Removes control characters from text of a page, and truncates it, for output to a terminal.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(200).collect()
}

/// Verifies the report in a folder. Fails if a byte was changed, or if another key signed the report.
pub fn verify_report(folder: &Path, key: Option<&Verifier>) -> Result<(), Failure> {
    let verified = verify(folder, key)?;
    print(format_args!(
        "The report holds: {} files, signed at {} by\n{}\n{}",
        verified.files,
        verified.time,
        verified.watcher,
        if key.is_some() {
            ""
        } else {
            "This key was read from the report itself: compare it with the watcher's, or pass --key.\n"
        },
    ))
}
