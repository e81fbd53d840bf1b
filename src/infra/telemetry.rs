use std::fmt::{Debug, Write};
use std::panic::PanicHookInfo;

use tracing::field::Field;
use tracing::{Level, Metadata};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::{self, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, registry};

use super::log_output::LogOutput;
use crate::config::LogFormat;

const DEFAULT: &str = "info,rocket_dyn_templates=error,_=error,hyper=warn,sqlx=warn";

/// Installs the logger. `RUST_LOG` sets the filter; the default is `info`.
pub fn install(format: LogFormat) {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let lines = match format {
        LogFormat::Text => text_lines().with_writer(|| LogOutput).boxed(),
        LogFormat::Json => {
            fmt::layer().json().flatten_event(true).with_writer(|| LogOutput).boxed()
        }
    };
    registry().with(chosen).with(filter_fn(is_discreet)).with(lines).init();
    // All of Rocket's messages through `log` are filtered out, and a maximum level is cheaper than a filter.
    if std::env::var_os(EnvFilter::DEFAULT_ENV).is_none() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    std::panic::set_hook(Box::new(log_panic));
}

fn text_lines<S>() -> fmt::Layer<S, impl for<'w> FormatFields<'w> + 'static> {
    let fields = format::debug_fn(write_field).delimited(" ");
    fmt::layer().with_target(false).with_ansi(false).fmt_fields(fields)
}

/// Like the library's formatter, but without styles, for speed: the fields of every request are formatted.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    match field.name() {
        "message" => {}
        // The source location of a library that logs through `log`.
        name if name.starts_with("log.") => return Ok(()),
        name => write!(writer, "{name}=")?,
    }
    write!(OneLine(writer), "{value:?}")
}

/// Escapes control characters, so that no text can forge a line or take over a terminal.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let mut rest = text;
        while let Some((start, control)) = rest.char_indices().find(|(_, c)| c.is_control()) {
            self.0.write_str(&rest[..start])?;
            write!(self.0, "{}", control.escape_default())?;
            rest = &rest[start + control.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// Silences libraries that log confidential data, regardless of `RUST_LOG`: Rocket logs URIs and
/// headers, and the MCP library logs messages. Also silences the warnings of Rocket's macros (target:
/// the route's module and an underscore), of which there is one per request that a guard refuses.
fn is_discreet(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let of_macro = target.ends_with("::_") && *metadata.level() > Level::ERROR;
    !of_macro && !matches!(target.split("::").next(), Some("rocket" | "rmcp"))
}

/// Logs a panic as a line with the id of its request. The panic's message is omitted: it may quote data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(location, "panicked");
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    struct Noted;

    impl io::Write for Noted {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            WRITTEN.lock().unwrap().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_library_that_speaks_through_log_does_not_say_where_it_was_built() {
        let lines = registry().with(text_lines().with_writer(|| Noted));
        tracing::subscriber::with_default(lines, || {
            tracing::warn!(log.file = "/build/lib.rs", log.line = 7, answer = 42, "said");
        });
        let text = String::from_utf8(WRITTEN.lock().unwrap().clone()).unwrap();
        assert!(text.contains("WARN said") && text.contains("answer=42"), "{text}");
        assert!(!text.contains("log.") && !text.contains("build"), "{text}");
    }

    #[test]
    fn control_characters_in_a_value_are_escaped() {
        let mut text = String::new();
        write!(OneLine(&mut text), "a\n2026 ERROR \u{1b}[31mé\u{9b}\r\u{7f}").unwrap();
        assert_eq!(text, r"a\n2026 ERROR \u{1b}[31mé\u{9b}\r\u{7f}");
    }
}
