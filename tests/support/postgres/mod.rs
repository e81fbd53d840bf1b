//! PostgreSQL servers and databases of the tests, and connections that fail.

pub mod cluster;
pub mod database;
pub mod killable_database;
pub mod outage;
pub mod own_postgres;
pub mod pooler;
pub mod replica;
pub mod servers;
