use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use sqlx::PgPool;

pub struct Pools(Vec<(&'static str, PgPool)>);

impl Pools {
    pub fn new(primary: PgPool, read: Option<PgPool>) -> Self {
        let read = read.map(|pool| ("read", pool));
        Self([("primary", primary)].into_iter().chain(read).collect())
    }
}

/// Not derived, because the `Debug` of a pool shows its connection settings.
impl fmt::Debug for Pools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Pools").field(&self.0.len()).finish()
    }
}

impl Collector for Pools {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut connections = encoder.encode_descriptor(
            "database_connections",
            "Open connections by what they do",
            None,
            MetricType::Gauge,
        )?;
        for (name, pool) in &self.0 {
            let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
            let in_use = pool.size().saturating_sub(idle);
            for (state, count) in [("idle", idle), ("in_use", in_use)] {
                let labels = [("pool", *name), ("state", state)];
                gauge(count).encode(connections.encode_family(&labels)?)?;
            }
        }
        let mut most = encoder.encode_descriptor(
            "database_connections_max",
            "Connections that a pool may open",
            None,
            MetricType::Gauge,
        )?;
        for (name, pool) in &self.0 {
            let labels = [("pool", *name)];
            gauge(pool.options().get_max_connections()).encode(most.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn gauge(count: u32) -> ConstGauge<impl EncodeGaugeValue> {
    ConstGauge::new(i64::from(count))
}
