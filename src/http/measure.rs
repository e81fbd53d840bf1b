use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Method, Status};
use rocket::{Build, Orbit, Request, Response, Rocket, State, get, routes};

use super::request_id::Arrival;
use crate::infra::metrics::{Metrics, RouteMetrics};

/// The label of all unknown paths, because clients choose them freely.
const UNMATCHED: &str = "unmatched";

type RoutesByPattern = HashMap<String, Vec<(Method, RouteMetrics)>, RandomState>;

/// Counts and times requests, from the arrival that [`CommonHeaders`](super::headers::CommonHeaders) has
/// recorded. A route is named by its pattern, so that no id becomes a label.
pub struct Measure {
    metrics: Arc<Metrics>,
    routes: OnceLock<RoutesByPattern>,
    unmatched: RouteMetrics,
}

impl Measure {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        let unmatched = metrics.requests.route("any", UNMATCHED);
        Self { metrics, routes: OnceLock::new(), unmatched }
    }

    /// Needs no lock and no formatting, because the metrics of all routes exist before the first request.
    fn metrics_of(&self, request: &Request<'_>) -> &RouteMetrics {
        let known = request.route().and_then(|route| {
            let methods = self.routes.get()?.get(route.uri.as_str())?;
            let found = methods.iter().find(|(method, _)| *method == route.method);
            found.map(|(_, metrics)| metrics)
        });
        known.unwrap_or(&self.unmatched)
    }
}

#[rocket::async_trait]
impl Fairing for Measure {
    fn info(&self) -> Info {
        Info { name: "Measure", kind: Kind::Liftoff | Kind::Response }
    }

    async fn on_liftoff(&self, rocket: &Rocket<Orbit>) {
        let mut routes = RoutesByPattern::default();
        for route in rocket.routes() {
            let metrics = self.metrics.requests.route(route.method.as_str(), route.uri.path());
            routes.entry(route.uri.to_string()).or_default().push((route.method, metrics));
        }
        let _ = self.routes.set(routes);
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        let time = Arrival::of(request).at.elapsed();
        self.metrics_of(request).count(response.status().code, time);
    }
}

/// A separate service with only `/metrics`, for an address that visitors cannot reach.
pub fn listener(address: SocketAddr, metrics: Arc<Metrics>) -> Rocket<Build> {
    let settings = rocket::Config {
        address: address.ip(),
        port: address.port(),
        ident: rocket::config::Ident::none(),
        log_level: rocket::config::LogLevel::Off,
        shutdown: rocket::config::Shutdown {
            ctrlc: false,
            signals: [].into(),
            grace: 1,
            mercy: 0,
            ..Default::default()
        },
        ..rocket::Config::release_default()
    };
    rocket::custom(settings).manage(metrics).mount("/", routes![scrape])
}

#[get("/metrics")]
fn scrape(metrics: &State<Arc<Metrics>>) -> Result<(ContentType, String), Status> {
    let text = metrics.scrape().map_err(|_| Status::InternalServerError)?;
    let kind = ContentType::new("application", "openmetrics-text");
    Ok((kind.with_params([("version", "1.0.0"), ("charset", "utf-8")]), text))
}
