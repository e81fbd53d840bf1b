use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::buckets::SECONDS;

#[derive(Clone, Debug)]
pub struct LogMetrics {
    /// Number of entries, as last read by this node.
    pub size: Gauge,
    /// Duration from finding pending entries until they are in the log and signed.
    pub appending: Histogram,
    /// Whether this node appends nothing because the database is behind the signed checkpoint: 1 or 0.
    pub stopped: Gauge,
    /// Number of witnesses that cosigned this node's latest checkpoint.
    pub cosigners: Gauge,
    /// Time of this node's latest timestamp, in seconds since 1970; 0 before the first.
    pub stamped: Gauge,
    /// Failed timestamp requests of this node.
    pub stamp_failures: Counter,
    cosigned: Family<Witness, Gauge>,
    failures: Family<Witness, Counter>,
}

type Witness = [(&'static str, String); 1];

impl LogMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            size: Gauge::default(),
            appending: Histogram::new(SECONDS),
            stopped: Gauge::default(),
            cosigners: Gauge::default(),
            stamped: Gauge::default(),
            stamp_failures: Counter::default(),
            cosigned: Family::default(),
            failures: Family::default(),
        };
        let Self {
            size,
            appending,
            stopped,
            stamped,
            stamp_failures,
            cosigners,
            cosigned,
            failures,
        } = metrics.clone();
        registry.register("log_size", "Entries of the log of publications", size);
        let help = "Time to add what waited to the log and sign it";
        registry.register("log_sealing_duration_seconds", help, appending);
        let help = "Whether nothing is added to the log, because the database is behind it";
        registry.register("log_stopped", help, stopped);
        let help = "Witnesses that have cosigned what is shown of the log";
        registry.register("log_cosigners", help, cosigners);
        let help = "When a witness cosigned the log last, 0 for never";
        registry.register("log_cosigned_timestamp_seconds", help, cosigned);
        let help = "Attempts to have the log cosigned that failed";
        registry.register("log_cosign_failures", help, failures);
        registry.register("log_stamped_seconds", "When the log was time stamped last", stamped);
        let help = "Time stamps that were asked for and not given";
        registry.register("log_stamp_failures", help, stamp_failures);
        metrics
    }

    /// Time of a witness's latest cosignature, in seconds since 1970; 0 before the first.
    pub fn cosigned(&self, witness: &str) -> Gauge {
        self.cosigned.get_or_create_owned(&[("witness", witness.to_owned())])
    }

    pub fn failures(&self, witness: &str) -> Counter {
        self.failures.get_or_create_owned(&[("witness", witness.to_owned())])
    }

    /// Makes the metrics of a witness appear before its first cosignature.
    pub fn expect_witness(&self, witness: &str) {
        self.cosigned(witness).set(0);
        self.failures(witness).inc_by(0);
    }
}
