//! `assent witness`: cosigns other logs, with one key and one folder (c2sp.org/tlog-witness).

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::config::Config;
use assent::infra::{local_authority, log_output};
use assent::proof::format::cosignature::CosigningKey;
use assent::proof::format::policy::logs_in;
use assent::proof::format::submission::SIZE_TYPE;
use assent::proof::witness::{Answer, LogWitness};
use clap::Args;
use nix::fcntl::{Flock, FlockArg};
use rocket::config::{Ident, LogLevel, Shutdown};
use rocket::data::{Data, ToByteUnit};
use rocket::fairing::AdHoc;
use rocket::http::{ContentType, Status};
use rocket::{State, catch, catchers, get, post, routes};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::failure::Failure;
use super::signals::StopSignals;

/// Maximum size of a submission, which needs about 3 kB, plus the signatures of its checkpoint.
const MAX_BODY_KIB: u64 = 64;
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK: &str = "lock";
const PLAIN: ContentType = ContentType::Plain;

#[derive(Args)]
pub struct Arguments {
    /// The name under which it cosigns: an address of yours without https://, such as
    /// witness.example.com/w1
    #[arg(long)]
    name: String,
    /// A file that names the logs that it looks at, such as /log/policy of each gave it
    #[arg(long, value_name = "POLICY_FILE")]
    logs: PathBuf,
    /// The folder where it keeps what it has seen
    #[arg(long)]
    folder: PathBuf,
    /// Where it listens
    #[arg(long, default_value = "127.0.0.1:8010")]
    listen: SocketAddr,
}

type Text = (Status, (ContentType, String));

pub async fn witness(config: Config, arguments: Arguments) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    let (witness, _alone) = open(&config, &arguments)?;
    let (logs, key) = (witness.count_logs(), witness.verifier_key());
    let settings = rocket::Config {
        address: arguments.listen.ip(),
        port: arguments.listen.port(),
        ident: Ident::none(),
        log_level: LogLevel::Off,
        cli_colors: false,
        shutdown: Shutdown {
            ctrlc: false,
            signals: [].into(),
            grace: 2,
            mercy: 1,
            ..Shutdown::default()
        },
        ..rocket::Config::release_default()
    };
    let rocket = rocket::custom(settings)
        .manage(Arc::new(witness))
        .mount("/", routes![add_checkpoint, checkpoint])
        .register("/", catchers![refused])
        .attach(AdHoc::on_liftoff("Welcome", move |rocket| {
            let at = local_authority(rocket.config().address, rocket.config().port);
            Box::pin(async move {
                log_output::write_line(&format!(
                    "Assent looks at logs of others.\n  home         http://{at}/\n  logs         \
                     {logs}\n  key          {key}\nStop it with Ctrl-C."
                ));
            })
        }));
    let cannot_serve = |error: rocket::Error| Failure(format!("cannot serve: {}", error.kind()));
    let rocket = rocket.ignite().await.map_err(cannot_serve)?;
    let shutdown = rocket.shutdown();
    tokio::spawn(async move {
        signals.received().await;
        shutdown.notify();
    });
    rocket.launch().await.map(|_| ()).map_err(cannot_serve)
}

fn open(config: &Config, arguments: &Arguments) -> Result<(LogWitness, Flock<fs::File>), Failure> {
    let no_key = "WITNESS_KEY: must be set; make one with: openssl rand -hex 32";
    let seed = config.witness_key.as_ref().ok_or_else(|| Failure(no_key.to_owned()))?;
    let seed = hex::decode(seed.expose())?;
    let wrong = || Failure("the name of a witness has no spaces and no +".to_owned());
    let key = CosigningKey::new(&arguments.name, &seed).ok_or_else(wrong)?;
    let logs = fs::read_to_string(&arguments.logs);
    let logs = logs_in(&logs.map_err(|error| cannot("read", &arguments.logs, &error))?)?;
    let folder = &arguments.folder;
    fs::create_dir_all(folder).map_err(|error| cannot("made", folder, &error))?;
    let lock = fs::File::create(folder.join(LOCK));
    let lock = lock.map_err(|error| cannot("written to", folder, &error))?;
    let taken = || Failure(format!("another witness works in {}", folder.display()));
    let alone = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|_| taken())?;
    Ok((LogWitness::open(key, Clock::System, logs, folder)?, alone))
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure(format!("{} cannot be {what}: {error}", path.display()))
}

#[post("/add-checkpoint", data = "<body>")]
async fn add_checkpoint(witness: &State<Arc<LogWitness>>, body: Data<'_>) -> Text {
    let reading = body.open(MAX_BODY_KIB.kibibytes()).into_bytes();
    let body = match timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) if body.is_complete() => body.into_inner(),
        _ => return response(Answer::Malformed),
    };
    let witness = Arc::clone(witness);
    // The checkpoint is written to disk before the response is sent.
    match spawn_blocking(move || witness.add_checkpoint(&body)).await {
        Ok(Ok(answer)) => response(answer),
        Ok(Err(error)) => broken(&error.to_string()),
        Err(error) => broken(&error.to_string()),
    }
}

fn response(answer: Answer) -> Text {
    let text = |status, text: &str| (status, (PLAIN, format!("{text}\n")));
    match answer {
        Answer::Cosigned(line) => (Status::Ok, (PLAIN, line)),
        Answer::Malformed => text(Status::BadRequest, "this is no submission"),
        Answer::UnknownLog => text(Status::NotFound, "this log is not looked at here"),
        Answer::Unsigned => text(Status::Forbidden, "the log has not signed this checkpoint"),
        Answer::OtherSize(size) => {
            let kind = SIZE_TYPE.parse().unwrap_or(PLAIN);
            (Status::Conflict, (kind, format!("{size}\n")))
        }
        Answer::OtherRoot => {
            tracing::error!("a log was forked: it has signed two checkpoints of the same size");
            text(Status::Conflict, "another checkpoint of this size was cosigned")
        }
        Answer::Inconsistent => {
            tracing::warn!("a checkpoint does not go on from the one that was cosigned last");
            text(Status::UnprocessableEntity, "this does not go on from what was cosigned")
        }
    }
}

fn broken(error: &str) -> Text {
    tracing::error!(error, "a checkpoint could not be stored, and is not cosigned");
    (Status::InternalServerError, (PLAIN, "internal error\n".to_owned()))
}

#[get("/<origin_hash>/checkpoint")]
async fn checkpoint(witness: &State<Arc<LogWitness>>, origin_hash: &str) -> Text {
    match witness.checkpoint(origin_hash) {
        Some(note) => (Status::Ok, (PLAIN, note)),
        None => (Status::NotFound, (PLAIN, "nothing of this log was cosigned\n".to_owned())),
    }
}

#[catch(default)]
fn refused(status: Status, _: &rocket::Request<'_>) -> (ContentType, String) {
    (PLAIN, format!("{}\n", status.reason_lossy().to_lowercase()))
}
