//! The real program, for what only a process can show: signals, crashes, exit codes.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

/// A command that sees nothing of this process's environment, in a folder without settings.
pub fn bare_program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assent"));
    command.env_clear().current_dir(std::env::temp_dir()).stdin(Stdio::null());
    command
}

/// A command on a database of the test, on whatever port is free.
pub fn program(database_url: &str) -> Command {
    let mut command = bare_program();
    command.envs([
        ("DATABASE_URL", database_url),
        ("RECEIPT_SECRETS", "receipt-secret-of-the-tests"),
        ("RATE_LIMITS", "off"),
        ("ROCKET_PORT", "0"),
        ("TAG_CDN_BASE", "https://tags.example"),
    ]);
    command
}

/// Runs a command to its end, aside, so that services in this process go on.
pub async fn run(mut command: Command) -> Output {
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(Duration::from_secs(60), running).await;
    output.expect("the command ends").expect("it was waited for").expect("the program starts")
}

/// The result of a command: status, standard output, and standard error without lines that depend on the
/// load of the machine.
pub fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let log = text(&output.stderr);
    let log = log.split_inclusive('\n').filter(|line| !tells_of_slowness(line)).collect();
    (output.status.code(), text(&output.stdout), log)
}

/// Whether a line of the log only says that this machine has much to do: statements that take over
/// a second are logged.
fn tells_of_slowness(line: &str) -> bool {
    line.contains("execution time exceeded alert threshold")
        || line.contains("time to acquire exceeded slow threshold")
}

/// A service in a process of its own; killed when dropped.
pub struct Process {
    /// Its address, without a trailing slash.
    pub base: String,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts `assent serve` and waits until it listens.
    pub async fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("the program starts");
            let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
            let log = Arc::new(Mutex::new(Vec::new()));
            let base = loop {
                let Some(Ok(line)) = lines.next() else { panic!("it did not start: {log:?}") };
                if let Some(address) = line.trim().strip_prefix("home ") {
                    break address.trim().trim_end_matches('/').to_owned();
                }
                if !tells_of_slowness(&line) {
                    log.lock().unwrap().push(line);
                }
            };
            // Reads on, so that the service never waits for a full pipe.
            let output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
            let readers = vec![read_on(lines, &log), read_on(output, &log)];
            Self { base, child, log, readers }
        });
        started.await.expect("it was waited for")
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Its process id.
    #[allow(dead_code, reason = "tests/long reads the process's memory")]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn port(&self) -> String {
        self.base.rsplit(':').next().expect("an address with a port").to_owned()
    }

    /// Its log and its standard output, without lines that depend on the load of the machine.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    pub fn send(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("process ids are small");
        signal::kill(Pid::from_raw(id), signal).expect("it is still running");
    }

    /// Waits for its end, and for the end of its log; `None` when a signal ended it.
    pub async fn exit_code(&mut self) -> Option<i32> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                self.readers.drain(..).for_each(|reader| reader.join().expect("it reads"));
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the service does not end: {}", self.log());
    }
}

fn read_on(
    lines: Lines<impl BufRead + Send + 'static>,
    log: &Arc<Mutex<Vec<String>>>,
) -> JoinHandle<()> {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok).filter(|line| !tells_of_slowness(line));
        lines.for_each(|line| log.lock().unwrap().push(line));
    })
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
