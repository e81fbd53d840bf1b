use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::config::{Config, NO_TAG_CDN};
use assent::http::measure;
use assent::infra::metrics::Metrics;
use assent::infra::{Infra, local_authority, log_output};
use assent::proof::cosigning::witnesses::Witnesses;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::figment::Figment;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::database::Database;
use super::failure::Failure;
use super::listener::figment;
use super::signals::StopSignals;

pub fn serve(config: Config) -> Result<(), Failure> {
    Witnesses::from_config(&config)?;
    allow_many_connections();
    let figment = figment(&config);
    let workers = figment.extract_inner("workers").unwrap_or(1);
    let runtime = runtime(workers)?;
    let served = runtime.block_on(run(figment, config));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Many systems permit only 1,024 open files by default, which idle clients could use up.
fn allow_many_connections() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    if let Err(error) = raised {
        tracing::warn!(%error, "the number of open files stays as it is");
    }
}

/// With one worker, everything runs on the main thread, without the cost of a multi-threaded scheduler.
pub fn runtime(workers: usize) -> Result<Runtime, Failure> {
    let mut builder = match workers {
        0 | 1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder.worker_threads(workers.max(1)).enable_all().build()?)
}

async fn run(figment: Figment, config: Config) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    let (database, config) = tokio::select! {
        opened = Database::open_for_service(config) => opened?,
        () = signals.received() => return Ok(()),
    };
    let served = launch(&database, figment, config, signals).await;
    database.close().await;
    served
}

async fn launch(
    database: &Database,
    figment: Figment,
    config: Config,
    mut signals: StopSignals,
) -> Result<(), Failure> {
    tokio::select! {
        migrated = database.migrate() => migrated?,
        () = signals.received() => return Ok(()),
    }
    let replica = database.replica(&config).await?;
    if config.tag_cdn_base == NO_TAG_CDN {
        tracing::warn!(
            "TAG_CDN_BASE is not set: visitors can choose, but identification loads on no site"
        );
    }
    let infra = Infra::new(config, Clock::System, database.postgres.clone(), replica)?;
    let metrics = MetricsListener::start(&infra.config, &infra.metrics).await?;
    let node_shutdown = infra.shutdown.clone();
    let (announced, metrics_at) = (infra.clone(), metrics.as_ref().map(|metrics| metrics.at));
    let rocket = assent::server::build(figment, infra)
        .attach(AdHoc::on_liftoff("Welcome", move |_| {
            Box::pin(async move { announce(announced.base_url(), metrics_at) })
        }));
    let rocket = rocket.ignite().await.map_err(|error| cannot_serve(&error))?;
    let shutdown = rocket.shutdown();
    tokio::spawn(async move {
        signals.received().await;
        shutdown.notify();
    });
    let served = rocket.launch().await;
    if !node_shutdown.wait().await {
        tracing::warn!("mails that are under way are left to other nodes");
    }
    if let Some(metrics) = metrics {
        metrics.stop.notify();
    }
    served.map(|_| ()).map_err(|error| cannot_serve(&error))
}

/// The listener of `METRICS_ADDRESS`, which stops after the service, so that the last requests can be scraped.
struct MetricsListener {
    at: SocketAddr,
    stop: rocket::Shutdown,
}

impl MetricsListener {
    /// Returns once the listener accepts connections; `None` if no address is configured.
    async fn start(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<Self>, Failure> {
        let Some(address) = config.metrics_address else { return Ok(None) };
        let failed = |error: &rocket::Error| {
            let kind = error.kind();
            Failure(format!("METRICS_ADDRESS: cannot serve on {address}: {kind}"))
        };
        let (up, port) = oneshot::channel();
        let up = std::sync::Mutex::new(Some(up));
        let rocket = measure::listener(address, metrics.clone());
        let rocket = rocket.attach(AdHoc::on_liftoff("Port", move |rocket| {
            let up = up.lock().ok().and_then(|mut up| up.take());
            let _ = up.map(|up| up.send(rocket.config().port));
            Box::pin(async {})
        }));
        let rocket = rocket.ignite().await.map_err(|error| failed(&error))?;
        let stop = rocket.shutdown();
        let mut serving = tokio::spawn(rocket.launch());
        tokio::select! {
            Ok(port) = port => Ok(Some(Self { at: SocketAddr::new(address.ip(), port), stop })),
            ended = &mut serving => match ended? {
                Err(error) => Err(failed(&error)),
                Ok(_) => Err(Failure(format!("METRICS_ADDRESS: {address} was served no longer"))),
            },
        }
    }
}

fn cannot_serve(error: &rocket::Error) -> Failure {
    match error.kind() {
        // The kind alone does not name the invalid setting and its source.
        ErrorKind::Config(error) => Failure(format!("cannot serve: {error}")),
        kind => Failure(format!("cannot serve: {kind}")),
    }
}

fn announce(base_url: &str, metrics_at: Option<SocketAddr>) {
    let metrics = metrics_at.map(|at| {
        let at = local_authority(at.ip(), at.port());
        format!("\n  metrics      http://{at}/metrics")
    });
    let metrics = metrics.unwrap_or_default();
    log_output::write_line(&format!(
        "Assent is up.\n  home         {base_url}/\n  demo         {base_url}/demo\n  consent log  {base_url}/log\n  health       {base_url}/healthz{metrics}\nStop it with Ctrl-C."
    ));
}
