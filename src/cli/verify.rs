//! `assent verify`: verifies a proof file, or the report of a watch, without settings, database or network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assent::infra::log_output;
use assent::proof::format::note::Verifier;
use assent::proof::format::policy::TrustPolicy;
use assent::proof::timestamp::stamped::Extract;
use assent::proof::verifying;
use clap::Args;

use super::failure::Failure;
use super::output::print;
use super::watch::verify_report;

#[derive(Args)]
pub struct Arguments {
    /// The proof file, or the folder of a report
    file: PathBuf,
    #[command(flatten)]
    trust: Trust,
    /// A file with a checkpoint of the log that was kept earlier
    #[arg(long, value_name = "CHECKPOINT_FILE")]
    against: Option<PathBuf>,
    /// Write the time stamp in the file, and what it is about, into this folder
    #[arg(long, value_name = "FOLDER")]
    extract: Option<PathBuf>,
}

#[derive(Args)]
#[group(multiple = false)]
struct Trust {
    /// A file that names the logs to trust and the witnesses to want, such as /log/policy of a
    /// service gave it
    #[arg(long, value_name = "POLICY_FILE")]
    trust: Option<PathBuf>,
    /// The verifier key of the log, or of the watcher, to trust; a proof file needs this or --trust
    #[arg(long)]
    key: Option<String>,
}

impl Trust {
    fn policy(&self) -> Result<TrustPolicy, Failure> {
        match (&self.trust, &self.key) {
            (Some(policy), _) => Ok(TrustPolicy::trusting(&read(policy)?)?),
            (None, _) => {
                let missing = || Failure("no key was given".to_owned());
                self.key()?.map(TrustPolicy::of_log).ok_or_else(missing)
            }
        }
    }

    fn key(&self) -> Result<Option<Verifier>, Failure> {
        let wrong = || Failure("the key is no verifier key (name+id+key)".to_owned());
        self.key.as_deref().map(|key| Verifier::parse(key).ok_or_else(wrong)).transpose()
    }

    fn is_missing(&self) -> bool {
        self.trust.is_none() && self.key.is_none()
    }
}

/// The exit code for incomplete arguments.
const USAGE: u8 = 2;

pub fn verify(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.file.is_dir() {
        let key = arguments.trust.key()?;
        return verify_report(&arguments.file, key.as_ref()).map(|()| ExitCode::SUCCESS);
    }
    if arguments.trust.is_missing() {
        log_output::write_line("assent: a proof file needs --key or --trust: whom to trust");
        return Ok(ExitCode::from(USAGE));
    }
    verify_proof(arguments).map(|()| ExitCode::SUCCESS)
}

fn verify_proof(arguments: &Arguments) -> Result<(), Failure> {
    let trusted = arguments.trust.policy()?;
    let kept = arguments.against.as_deref().map(read).transpose()?;
    let file = fs::read(&arguments.file).map_err(|error| unread(&arguments.file, &error))?;
    let file = String::from_utf8_lossy(&file);
    let verdict = verifying::verify(&file, &trusted, kept.as_deref());
    let text = verdict.sentences.join("\n");
    if !verdict.valid {
        return Err(Failure(text));
    }
    print(format_args!("The proof holds.\n{text}\n"))?;
    match &arguments.extract {
        Some(folder) => extract(&file, folder),
        None => Ok(()),
    }
}

fn extract(file: &str, folder: &Path) -> Result<(), Failure> {
    let none = || Failure("there is no time stamp in this file".to_owned());
    let Extract { checkpoint, token } = Extract::of(file).ok_or_else(none)?;
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let (checkpoint_file, token_file) = (folder.join("checkpoint"), folder.join("timestamp.der"));
    for (path, bytes) in [(&checkpoint_file, checkpoint.as_bytes()), (&token_file, &token)] {
        fs::write(path, bytes).map_err(|error| unwritten(path, &error))?;
    }
    print(format_args!(
        "Whether the time stamp is genuine, for whoever trusts the certificates in AUTHORITY.pem:\n\
         openssl ts -verify -token_in -in {} -data {} -CAfile AUTHORITY.pem\n",
        token_file.display(),
        checkpoint_file.display(),
    ))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{} cannot be written: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| unread(path, &error))
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{} cannot be read: {error}", path.display()))
}
