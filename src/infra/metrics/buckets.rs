/// Bounds in seconds, from half a millisecond to the timeout of clients.
pub const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Bounds of counts, up to a full batch of receipts.
pub const SIZES: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_value_on_a_bound_belongs_below_it_and_buckets_add_up() {
        let mut registry = Registry::default();
        let histogram = Histogram::new(SECONDS);
        registry.register("time", "Time", histogram.clone());
        for nanos in [500_000, 500_001, 2_500_000, 60_000_000_000] {
            histogram.observe(Duration::from_nanos(nanos).as_secs_f64());
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
