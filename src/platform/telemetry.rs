//! Logs to standard error, as text or as JSON lines.

use std::fmt::{self, Debug, Write};
use std::panic::PanicHookInfo;

use tracing::Metadata;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, registry};

use crate::config::LogFormat;

const DEFAULT: &str = "info,rocket_dyn_templates=error,_=error,hyper=warn,sqlx=warn";

/// Installs the program's logger. `RUST_LOG` chooses what is logged, `info` without it.
pub fn install(format: LogFormat) {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let lines = layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => {
            let fields = format::debug_fn(write_field).delimited(" ");
            lines.with_target(false).with_ansi(false).fmt_fields(fields).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    registry().with(chosen).with(filter_fn(is_discreet)).with(lines).init();
    // Rocket writes some lines per request through `log`, and none of them is heard. This way it
    // learns so from one number instead of from the filters, line by line.
    if std::env::var_os(EnvFilter::DEFAULT_ENV).is_none() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    std::panic::set_hook(Box::new(log_panic));
}

/// As the library's own formatter, without the styles that no terminal will show: every request has
/// its fields written, whether or not it logs anything.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    if field.name() != "message" {
        writer.write_str(field.name())?;
        writer.write_char('=')?;
    }
    write!(OneLine(writer), "{value:?}")
}

/// Escapes control characters, so that no text can forge a line or take over a terminal.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((start, control)) = rest.char_indices().find(|(_, c)| c.is_control()) {
            self.0.write_str(&rest[..start])?;
            write!(self.0, "{}", control.escape_default())?;
            rest = &rest[start + control.len_utf8()..];
        }
        self.0.write_str(rest)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_a_value_are_escaped() {
        let mut text = String::new();
        write!(OneLine(&mut text), "a\n2026 ERROR \u{1b}[31mé\u{9b}{}", "\r\u{7f}").unwrap();
        assert_eq!(text, r"a\n2026 ERROR \u{1b}[31mé\u{9b}\r\u{7f}");
    }
}
