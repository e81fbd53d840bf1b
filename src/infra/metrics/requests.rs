use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::buckets::SECONDS;

/// The statuses that the service returns. Counters of other statuses are looked up under a lock.
const STATUSES: [u16; 22] = [
    200, 201, 202, 204, 302, 303, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 413, 422, 429,
    500, 502, 503,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    method: &'static str,
    route: String,
    status: u16,
}

type Durations = Family<RouteLabels, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug)]
pub struct RequestMetrics {
    answers: Family<AnswerLabels, Counter>,
    durations: Durations,
}

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let answers = Family::default();
        let durations = Durations::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register("http_requests", "Requests by route and status", answers.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from a request's head to the head of its answer",
            durations.clone(),
        );
        Self { answers, durations }
    }

    /// The metrics of a route. `route` is its pattern, never an actual path.
    pub fn route(&self, method: &'static str, route: &str) -> RouteMetrics {
        RouteMetrics {
            all: self.clone(),
            labels: RouteLabels { method, route: route.to_owned() },
            duration: OnceLock::new(),
            answers: std::array::from_fn(|_| OnceLock::new()),
        }
    }
}

/// The metrics of one route, each looked up only once. They appear in a scrape after
/// the route's first request.
#[derive(Debug)]
pub struct RouteMetrics {
    all: RequestMetrics,
    labels: RouteLabels,
    duration: OnceLock<Histogram>,
    /// In the order of [`STATUSES`].
    answers: [OnceLock<Counter>; STATUSES.len()],
}

impl RouteMetrics {
    pub fn count(&self, status: u16, time: Duration) {
        let duration = || self.all.durations.get_or_create_owned(&self.labels);
        self.duration.get_or_init(duration).observe(time.as_secs_f64());
        match STATUSES.iter().position(|&known| known == status) {
            Some(index) => self.answers[index].get_or_init(|| self.answer(status)).inc(),
            None => self.answer(status).inc(),
        };
    }

    fn answer(&self, status: u16) -> Counter {
        let RouteLabels { method, route } = self.labels.clone();
        self.all.answers.get_or_create_owned(&AnswerLabels { method, route, status })
    }
}
