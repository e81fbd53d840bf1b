//! The workers of a cluster, if the tests run on one (`make test-cluster`), and the statements of `docs/cluster.md`
//! and `docs/scaling.md`.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use url::Url;

const GUIDES: [&str; 2] =
    [include_str!("../../../docs/cluster.md"), include_str!("../../../docs/scaling.md")];

/// The SQL between two marks of a guide.
pub fn statements(mark: &str) -> String {
    let begin = format!("<!-- {mark}:begin -->\n```sql\n");
    let end = format!("```\n<!-- {mark}:end -->");
    let rest = GUIDES.iter().find_map(|guide| Some(guide.split_once(&begin)?.1));
    let rest = rest.expect("a guide has the mark");
    rest.split_once(&end).expect("the mark ends").0.to_owned()
}

/// The addresses of the workers; none, where there is one PostgreSQL.
pub fn workers() -> Vec<String> {
    let workers = std::env::var("TEST_WORKERS").unwrap_or_default();
    workers.lines().map(str::to_owned).collect()
}

/// The same database at another server.
pub fn at(server: &str, database: &str) -> String {
    let mut url = Url::parse(server).expect("an address");
    url.set_path(database);
    url.to_string()
}

async fn run(url: &str, statements: String) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    connection.execute(AssertSqlSafe(statements)).await?;
    connection.close().await
}

/// The nodes' own names and ports in place of the guide's.
fn as_here(statements: &str, coordinator: &str) -> String {
    let address_of = |server: &str| {
        let url = Url::parse(server).expect("an address");
        format!("'{}', {}", url.host_str().expect("a host"), url.port().expect("a port"))
    };
    let named = statements.replace("'coordinator.internal', 5432", &address_of(coordinator));
    let workers = workers().into_iter().enumerate();
    workers.fold(named, |named, (number, server)| {
        named.replace(&format!("'worker-{}.internal', 5432", number + 1), &address_of(&server))
    })
}

/// Makes a database that exists on every server, migrated at the coordinator, one whose tables are
/// spread. Nobody is connected to it afterwards, so that it can be copied.
pub async fn distribute(coordinator: &str, database: &str) -> sqlx::Result<()> {
    follow(coordinator, database, "citus-nodes").await?;
    follow(coordinator, database, "citus").await
}

/// The extension, on every server, in a database that is there.
pub async fn extend(coordinator: &str, database: &str) -> sqlx::Result<()> {
    for server in workers().iter().map(String::as_str).chain([coordinator]) {
        run(&at(server, database), statements("citus-extension")).await?;
    }
    Ok(())
}

/// Names the coordinator and this number of workers to each other.
pub async fn join(coordinator: &str, database: &str, workers: usize) -> sqlx::Result<()> {
    let nodes = as_here(&statements("citus-nodes"), coordinator);
    run_each(coordinator, database, &nodes, 1 + workers).await
}

/// The statements of a block of the guide, one after the other.
pub async fn follow(coordinator: &str, database: &str, mark: &str) -> sqlx::Result<()> {
    run_each(coordinator, database, &as_here(&statements(mark), coordinator), usize::MAX).await
}

/// The first statements, up to this number, each in a transaction of its own.
async fn run_each(
    coordinator: &str,
    database: &str,
    statements: &str,
    count: usize,
) -> sqlx::Result<()> {
    let lines = statements.lines().filter(|line| !line.starts_with("--"));
    let statements = lines.collect::<Vec<_>>().join("\n");
    let each = statements.split(';').map(str::trim).filter(|statement| !statement.is_empty());
    for statement in each.take(count) {
        run(&at(coordinator, database), statement.to_owned()).await?;
    }
    Ok(())
}

/// Ends all that is connected to the database, and lets nobody in any more.
pub async fn close(coordinator: &str, database: &str) -> sqlx::Result<()> {
    for server in workers().iter().map(String::as_str).chain([coordinator]) {
        let close = format!(
            "ALTER DATABASE {database} ALLOW_CONNECTIONS false;
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        );
        run(server, close).await?;
    }
    Ok(())
}
