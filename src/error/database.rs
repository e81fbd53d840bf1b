use super::Error;

/// The refusal for a violated unique constraint, so that a lost race has the same refusal as a failed check.
fn on_constraint(name: &str) -> Option<Error> {
    match name {
        "accounts_email_key" => Some(Error::EmailRegistered),
        "accounts_external_user_id_key" => Some(Error::ExternalUserRegistered),
        "members_account_id_email_key" => Some(Error::AlreadyMember),
        "pixels_domain_key" => Some(Error::DomainRegistered),
        _ => None,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                database.constraint().and_then(on_constraint).unwrap_or_else(|| {
                    if is_outage(database.code().as_deref()) {
                        tracing::warn!(%error, "database unavailable");
                        Self::DatabaseUnavailable
                    } else {
                        Self::internal(&error)
                    }
                })
            }
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::Tls(_)
            // A proxy whose database is unreachable, or a server that is shutting down, causes this error.
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed => {
                tracing::warn!(%error, "database unavailable");
                Self::DatabaseUnavailable
            }
            // The service closes the pool as the last step of a shutdown.
            sqlx::Error::PoolClosed => Self::DatabaseUnavailable,
            _ => Self::internal(&error),
        }
    }
}

/// SQLSTATE codes of a database that is temporarily unable to serve.
///
/// - 08: the connection failed. 28: the server refuses this node, for example a new primary with other
///   access rules.
/// - 25006: the server only accepts read-only transactions, as a standby or a former primary does.
/// - 40001: a standby has replayed a change of rows that the statement was reading. On the primary, the
///   isolation level never causes this error ([`crate::infra::postgres`]).
/// - 53: resources are exhausted. 58: the operating system failed, for example a broken disk.
/// - 57P: the server is being shut down, is starting, or has crashed. 57014: a statement exceeded its
///   time limit.
/// - 0A000: tables are being moved or changed. A joined table is already on a worker, or a plan was made
///   before the change (docs/scaling.md).
const OUTAGES: [&str; 9] = ["08", "28", "25006", "40001", "53", "58", "57P", "57014", "0A000"];

fn is_outage(sqlstate: Option<&str>) -> bool {
    sqlstate.is_some_and(|code| OUTAGES.iter().any(|class| code.starts_with(class)))
}
