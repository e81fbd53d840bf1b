//! The database: start, loss, failover, replicas, clusters.

mod cluster;
mod cluster_growing;
mod cluster_plans;
mod distributed_tables;
mod durability;
mod embedded_postgres;
mod embedded_signals;
mod endurance;
mod failover;
mod failover_scene;
mod mixed_versions;
mod replica;
mod scaling;
mod settings;
mod stalled_connections;
mod start;
mod torture;
