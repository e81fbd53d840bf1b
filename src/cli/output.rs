use std::fmt::Display;
use std::io::{Write, stdout};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{fstat, stat};

use super::failure::Failure;

pub fn print(result: impl Display) -> Result<(), Failure> {
    let mut output = stdout();
    let written = write!(output, "{result}").and_then(|()| output.flush());
    written.map_err(|error| Failure(format!("standard output cannot be written: {error}")))
}

/// Fails if standard output is closed. Called before a command does anything whose result would be lost.
pub fn must_be_open() -> Result<(), Failure> {
    if is_closed() {
        return Err(Failure("standard output is closed, so nothing was done".to_owned()));
    }
    Ok(())
}

/// Rust replaces a closed standard output by `/dev/null`, opened for reading and writing. Shells
/// that discard output on purpose open it for writing only.
fn is_closed() -> bool {
    let output = stdout();
    let is_null = matches!(
        (fstat(&output), stat("/dev/null")),
        (Ok(output), Ok(null)) if output.st_rdev == null.st_rdev && output.st_mode == null.st_mode
    );
    let flags = fcntl(&output, FcntlArg::F_GETFL).map(OFlag::from_bits_truncate);
    let access = flags.map(|flags| flags & OFlag::O_ACCMODE);
    is_null && access == Ok(OFlag::O_RDWR)
}
