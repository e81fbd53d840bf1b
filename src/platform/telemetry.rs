//! Logs to standard error, as text or as JSON lines.

use std::panic::PanicHookInfo;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::LogFormat;

const DEFAULT: &str = "info,rocket_dyn_templates=error,_=error,hyper=warn,sqlx=warn";
/// Rocket writes whole URIs, with the tokens that some carry, also when nothing is wrong with the
/// service; what is wrong is logged by the service itself.
const WITHOUT_URIS: &str = "rocket=off";
/// The tool-protocol library writes whole messages, with the keys that some carry.
const WITHOUT_MESSAGES: &str = "rmcp=off";

/// Installs the program's logger. `RUST_LOG` chooses what is logged, `info` without it.
pub fn install(format: LogFormat) {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let filter = [WITHOUT_URIS, WITHOUT_MESSAGES].into_iter().fold(chosen, |filter, directive| {
        filter.add_directive(directive.parse().expect("these directives are well formed"))
    });
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NONE)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_target(false).with_ansi(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
}

/// A panic is a log line like any other, with the id of the request that ran into it. Its message
/// stays out: it may quote data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(location, "panicked");
}
