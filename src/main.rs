//! The command line: a thin door to the library.

mod cli;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Command, Failure};

/// Beside the C library's and mimalloc it was the fastest, and held 10 MiB less than mimalloc under
/// load. `.cargo/config.toml` says how it is set.
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
    // The allocator would ask for huge pages, which doubles what the program holds and makes
    // nothing faster here. Where it cannot be refused, it is as well.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
    let arguments = Arguments::parse();
    match cli::run(arguments.command.unwrap_or(Command::Serve)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(sentence)) => {
            eprintln!("assent: {sentence}");
            ExitCode::FAILURE
        }
    }
}
