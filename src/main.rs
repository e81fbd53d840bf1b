//! The command line: a thin door to the library.

mod cli;

use std::process::ExitCode;

use clap::Parser;

use cli::{Command, Failure};

/// A consent and site-pixel service whose every choice ends in a signed receipt.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match cli::run(arguments.command.unwrap_or(Command::Serve)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(sentence)) => {
            eprintln!("assent: {sentence}");
            ExitCode::FAILURE
        }
    }
}
