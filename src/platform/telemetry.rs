//! Logs to standard error, as text or as JSON lines.

use std::panic::PanicHookInfo;

use tracing::Metadata;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use crate::config::LogFormat;

const DEFAULT: &str = "info,rocket_dyn_templates=error,_=error,hyper=warn,sqlx=warn";

/// Installs the program's logger. `RUST_LOG` chooses what is logged, `info` without it.
pub fn install(format: LogFormat) {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_target(false).with_ansi(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    registry().with(chosen).with(filter_fn(is_discreet)).with(lines).init();
    std::panic::set_hook(Box::new(log_panic));
}

/// Libraries that write what must not be logged are never heard, whatever `RUST_LOG` says: Rocket
/// writes whole URIs and headers, the tool-protocol library whole messages, with the tokens and
/// keys that some carry. What is wrong is logged by the service itself.
fn is_discreet(metadata: &Metadata<'_>) -> bool {
    let library = metadata.target().split("::").next();
    !matches!(library, Some("rocket" | "rmcp"))
}

/// A panic is a log line like any other, with the id of the request that ran into it. Its message
/// stays out: it may quote data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(location, "panicked");
}
