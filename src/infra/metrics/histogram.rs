//! A lock-free histogram: a measurement takes no lock and allocates nothing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// The upper bounds of the buckets, and the size of their unit in the unit of a scrape.
#[derive(Debug)]
pub struct Scale {
    bounds: &'static [u64],
    unit: f64,
}

/// Nanoseconds, exposed as seconds: from half a millisecond to the time at which clients give up.
pub const SECONDS: Scale = Scale {
    bounds: &[
        500_000,
        1_000_000,
        2_500_000,
        5_000_000,
        10_000_000,
        25_000_000,
        50_000_000,
        100_000_000,
        250_000_000,
        500_000_000,
        1_000_000_000,
        2_500_000_000,
        5_000_000_000,
        10_000_000_000,
    ],
    unit: 1e-9,
};

/// Counts, up to a full batch of receipts.
pub const SIZES: Scale = Scale { bounds: &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000], unit: 1.0 };

#[derive(Debug)]
struct Inner {
    scale: Scale,
    /// One per bound, and one for values above the last bound.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A histogram. Clones share it.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Inner>);

impl Histogram {
    pub fn new(scale: Scale) -> Self {
        let buckets = (0..=scale.bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner { scale, buckets, sum: AtomicU64::new(0) }))
    }

    /// Counts a value, in the unit of the bounds.
    pub fn observe(&self, value: u64) {
        let bounds = self.0.scale.bounds;
        let bucket = bounds.iter().position(|&bound| value <= bound).unwrap_or(bounds.len());
        self.0.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.0.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a duration, for histograms of [`SECONDS`].
    pub fn observe_time(&self, time: Duration) {
        self.observe(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

#[allow(clippy::cast_precision_loss, reason = "a scrape shows decimal fractions anyway")]
fn shown(value: u64, unit: f64) -> f64 {
    // Divided, so that bounds are printed as written: 0.0025, not 0.0025000000000000005.
    value as f64 / (1.0 / unit).round()
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder) -> fmt::Result {
        let Inner { scale, buckets, sum } = &*self.0;
        let bounds = scale.bounds.iter().map(|&bound| shown(bound, scale.unit)).chain([f64::MAX]);
        let counts = buckets.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets = bounds.zip(counts).collect::<Vec<_>>();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = shown(sum.load(Ordering::Relaxed), scale.unit);
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_value_on_a_bound_belongs_below_it_and_buckets_add_up() {
        let mut registry = Registry::default();
        let histogram = Histogram::new(SECONDS);
        registry.register("time", "Time", histogram.clone());
        for nanos in [500_000, 500_001, 2_500_000, 60_000_000_000] {
            histogram.observe_time(Duration::from_nanos(nanos));
        }
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "time_bucket{le=\"0.0005\"} 1",
            "time_bucket{le=\"0.001\"} 2",
            "time_bucket{le=\"0.0025\"} 3",
            "time_bucket{le=\"10.0\"} 3",
            "time_bucket{le=\"+Inf\"} 4",
            "time_count 4",
            "time_sum 60.003500001",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
