use std::io;

use nix::libc;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that end a program by default but do not ask it to end: a closed terminal, a request to
/// reopen logs, a timer, a log file at its size limit, a change of the power supply. Real-time
/// signals are ignored as well.
const IGNORED: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXFSZ,
];

/// SIGTERM, SIGINT, SIGQUIT and SIGXCPU, caught from the start: a signal that killed the program
/// would leave its embedded database running.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    /// SIGXCPU: the limit of processor time is reached; SIGKILL follows a second later.
    out_of_time: Signal,
}

impl StopSignals {
    /// Catches signals for the rest of the program's life. Must be called inside a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        for ignored in IGNORED.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
            // Installing a handler replaces the signal's default action permanently.
            let _ = signal(SignalKind::from_raw(ignored))?;
        }
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            out_of_time: signal(SignalKind::from_raw(libc::SIGXCPU))?,
        })
    }

    /// Waits for the first signal that ends the program. Later signals are ignored, because a
    /// shutdown takes only seconds.
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
            _ = self.out_of_time.recv() => {}
        }
    }
}
