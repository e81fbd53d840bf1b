//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that would end the program by default and that say nothing about its end: a closed
/// terminal, a request to reopen logs, a log file that has reached the limit of its size.
const IGNORED: [nix::sys::signal::Signal; 4] = [
    nix::sys::signal::SIGHUP,
    nix::sys::signal::SIGUSR1,
    nix::sys::signal::SIGUSR2,
    nix::sys::signal::SIGXFSZ,
];

/// SIGTERM, SIGINT and SIGQUIT, caught from the very start: a signal that ended the program at once
/// would leave its database running.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl StopSignals {
    /// Catches signals from now on, for the rest of the program's life. Must be called inside a
    /// Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        for ignored in IGNORED {
            // A signal that has a handler has lost its default action for good.
            let _ = signal(SignalKind::from_raw(ignored as i32))?;
        }
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for the first signal that asks the program to end. Later ones change nothing: an end
    /// in order takes some seconds at most.
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}
