//! The service with an additional route, `/bench/record`, that records like `/v1/consent/record`, but
//! commits every receipt separately. Group commit is compared with it.
//!
//! It has nearly as many writers as the service may open connections. Each receives one receipt at a
//! time, so that no two receipts share a commit.

use std::sync::Arc;
use std::time::Instant;

use assent::app::App;
use assent::clock::Clock;
use assent::config::Config;
use assent::consent_receipt::receipt::ReceiptEnvelope;
use assent::http::body::Body;
use assent::http::json::Json;
use assent::infra::postgres::Database;
use assent::infra::{Infra, telemetry};
use assent::receipts::cluster::Cluster;
use assent::receipts::record::choice::RecordRequest;
use assent::receipts::record::recorder::Recorder;
use assent::receipts::record::writing::Notifiers;
use assent::receipts::record::{Provenance, Recorded};
use assent::receipts::service::Receipts;
use rocket::figment::Figment;
use rocket::figment::providers::Env;
use rocket::http::Status;
use rocket::response::status::Custom;
use rocket::tokio::sync::{Mutex, mpsc};
use rocket::{State, post, routes};
use tikv_jemallocator::Jemalloc;

/// The allocator of the program, so that only the commits differ.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const WRITERS: usize = 16;

/// Idle writers.
struct Idle {
    back: mpsc::Sender<Recorder>,
    free: Mutex<mpsc::Receiver<Recorder>>,
}

#[post("/record", data = "<body>")]
async fn record(
    app: &State<App>,
    idle: &State<Arc<Idle>>,
    body: Body,
) -> Result<Custom<Json<ReceiptEnvelope>>, Status> {
    let request = body.json::<RecordRequest>().map_err(|_| Status::BadRequest)?;
    let recorder = idle.free.lock().await.recv().await.ok_or(Status::InternalServerError)?;
    let receipts = Receipts { recorder: recorder.clone(), ..app.receipts.clone() };
    let provenance =
        Provenance { arrived_at: Instant::now(), sec_gpc: false, is_bot: false, origin: None };
    let recorded = receipts.record(request, &provenance).await;
    let _ = idle.back.send(recorder).await;
    match recorded {
        Ok(Recorded::Saved(signed)) => Ok(Custom(Status::Accepted, Json((*signed).into()))),
        _ => Err(Status::BadRequest),
    }
}

#[rocket::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_env()?;
    telemetry::install(config.log_format);
    let url = config.database_url.clone().ok_or("DATABASE_URL is needed")?;
    let database = Database::connect(url.expose())?;
    let infra = Infra::new(config, Clock::System, database.clone(), None)?;
    let (back, free) = mpsc::channel(WRITERS);
    for _ in 0..WRITERS {
        let metrics = infra.metrics.receipts.clone();
        let storage = Arc::new(Cluster::new(&database, metrics.clone(), Notifiers::default()));
        back.send(Recorder::start(&database, metrics, storage)).await?;
    }
    let figment = Figment::from(rocket::Config {
        log_level: rocket::config::LogLevel::Off,
        ..rocket::Config::release_default()
    })
    .merge(Env::prefixed("ROCKET_").global());
    let idle = Arc::new(Idle { back, free: Mutex::new(free) });
    let _ = assent::server::build(figment, infra)
        .manage(idle)
        .mount("/bench", routes![record])
        .launch()
        .await?;
    Ok(())
}
