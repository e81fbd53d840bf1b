//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that end a program by default but do not ask it to end: a closed terminal, a request to reopen
/// logs, a log file at its size limit.
const IGNORED: [nix::sys::signal::Signal; 4] = [
    nix::sys::signal::SIGHUP,
    nix::sys::signal::SIGUSR1,
    nix::sys::signal::SIGUSR2,
    nix::sys::signal::SIGXFSZ,
];

/// SIGTERM, SIGINT and SIGQUIT, caught from the start: a signal that killed the program would leave its
/// embedded database running.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl StopSignals {
    /// Catches signals for the rest of the program's life. Must be called inside a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        for ignored in IGNORED {
            // Installing a handler replaces the signal's default action permanently.
            let _ = signal(SignalKind::from_raw(ignored as i32))?;
        }
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for the first signal that asks the program to end. Later signals have no effect: an orderly
    /// shutdown takes a few seconds at most.
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
        }
    }
}
