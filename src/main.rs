mod cli;

use std::process::ExitCode;

use assent::infra::log_output;
use clap::Parser;

use crate::cli::{Command, Failure};

/// Faster than the C library's allocator and mimalloc, and takes less memory than the latter (`.cargo/config.toml`).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A consent and site-pixel service whose every choice ends in a signed receipt.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    // Huge pages would double the allocator's memory without a gain. This fails only where they are off anyway.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => return printed(&answer),
    };
    let done = cli::run(arguments.command.unwrap_or(Command::Serve));
    if let Err(Failure(sentence)) = &done {
        log_output::write_line(&format!("assent: {sentence}"));
    }
    log_output::flush();
    match done {
        Ok(code) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn printed(answer: &clap::Error) -> ExitCode {
    let is_lost = answer.print().is_err() && !answer.use_stderr();
    let code = if is_lost { 1 } else { answer.exit_code() };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
