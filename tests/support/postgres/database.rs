//! A database per test, copied from one that was migrated once.

use std::sync::OnceLock;

use assent::infra::postgres::{self, Database};
use sha2::{Digest, Sha256};
use sqlx::{Connection, Executor, PgConnection, PgPool, query, query_scalar};

use super::cluster;

/// The name of the migrated database.
static TEMPLATE: OnceLock<String> = OnceLock::new();

/// Templates are made, and left-over ones dropped, by one process at a time.
const MAKING: i64 = 0x6173_7365_6e74;

/// A database that is dropped when the test ends.
pub struct TestDatabase {
    pub url: String,
    /// `None` for one that goes away with its server.
    name: Option<String>,
}

fn server_url() -> String {
    std::env::var("DATABASE_URL")
        .expect("run the tests through `make test`, or `scripts/with-postgres cargo test`")
}

fn url_of(name: &str) -> String {
    let mut url = url::Url::parse(&server_url()).expect("DATABASE_URL is an address");
    url.set_path(name);
    url.to_string()
}

/// On every server, should there be several.
async fn admin(statement: String) -> sqlx::Result<()> {
    for server in [server_url()].into_iter().chain(cluster::workers()) {
        let mut connection = PgConnection::connect(&server).await?;
        connection.execute(sqlx::AssertSqlSafe(statement.clone())).await?;
        connection.close().await?;
    }
    Ok(())
}

fn unique(kind: &str) -> String {
    format!("assent_{kind}_{}", assent::types::ids::random_text(12).to_lowercase())
}

/// The template's name follows from the migrations, so that it is made once per server and not once
/// per run.
fn template_name() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let files = std::fs::read_dir(folder).expect("migrations").map(|file| file.unwrap().path());
    let mut files = files.collect::<Vec<_>>();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.file_name().expect("a name").as_encoded_bytes());
        hash.update(std::fs::read(file).expect("a readable migration"));
    }
    format!("assent_migrated_{}", &hex::encode(hash.finalize())[..12])
}

/// Makes the template unless it is there, and keeps it from others who tidy up for as long as this
/// process runs.
fn template() -> String {
    let (made, name) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut keeper =
                PgConnection::connect(&server_url()).await.expect("the server answers");
            let name = template_name();
            make_template(&mut keeper, &name).await.expect("tests may create databases");
            let _ = made.send(name);
            std::future::pending::<()>().await;
        });
    });
    name.recv().expect("the template is made")
}

async fn make_template(keeper: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    query("SELECT pg_advisory_lock($1)").bind(MAKING).execute(&mut *keeper).await?;
    let all = "SELECT datname::text FROM pg_database WHERE starts_with(datname::text, 'assent_migrated_')";
    let all = query_scalar::<_, String>(all).fetch_all(&mut *keeper).await?;
    for old in all.iter().filter(|old| *old != name) {
        let free = query_scalar::<_, bool>("SELECT pg_try_advisory_lock(hashtext($1))").bind(old);
        if free.fetch_one(&mut *keeper).await? {
            admin(format!("DROP DATABASE IF EXISTS {old}")).await?;
            let unlock = query("SELECT pg_advisory_unlock(hashtext($1))").bind(old);
            unlock.execute(&mut *keeper).await?;
        }
    }
    if !all.iter().any(|known| known == name) {
        // Under another name until it is complete.
        let making = format!("{name}_making");
        admin(format!("CREATE DATABASE {making}")).await?;
        let is_cluster = !cluster::workers().is_empty();
        if is_cluster {
            cluster::extend(&server_url(), &making).await?;
        }
        let pool = Database::connect(&url_of(&making)).expect("an address").pool;
        postgres::migrate(&pool).await.expect("the migrations run");
        pool.close().await;
        if is_cluster {
            cluster::distribute(&server_url(), &making).await?;
            cluster::close(&server_url(), &making).await?;
        }
        admin(format!("ALTER DATABASE {making} RENAME TO {name}")).await?;
    }
    let keep = query("SELECT pg_advisory_lock_shared(hashtext($1))").bind(name);
    keep.execute(&mut *keeper).await?;
    query("SELECT pg_advisory_unlock($1)").bind(MAKING).execute(&mut *keeper).await?;
    Ok(())
}

impl TestDatabase {
    pub async fn create() -> Self {
        let template = TEMPLATE.get_or_init(template);
        let name = unique("test");
        admin(format!("CREATE DATABASE {name} TEMPLATE {template}"))
            .await
            .expect("tests may create databases");
        Self { url: url_of(&name), name: Some(name) }
    }

    /// Without any table: what a service finds at its very first start.
    pub async fn empty() -> Self {
        let name = unique("empty");
        admin(format!("CREATE DATABASE {name}")).await.expect("tests may create databases");
        Self { url: url_of(&name), name: Some(name) }
    }

    /// Like [`empty`](Self::empty), with options of `CREATE DATABASE`.
    pub async fn empty_with(options: &str) -> Self {
        let name = unique("empty");
        let statement = format!("CREATE DATABASE {name} {options}");
        admin(statement).await.expect("tests may create databases");
        Self { url: url_of(&name), name: Some(name) }
    }

    /// Changes a default of all new sessions, as an operator may: `SET name = value`.
    pub async fn alter(&self, change: &str) {
        let name = self.name.as_deref().expect("a name");
        admin(format!("ALTER DATABASE {name} {change}")).await.expect("tests may alter databases");
    }

    /// Terminates all sessions of the database, as an operator may.
    pub async fn end_sessions(&self) {
        let name = self.name.as_deref().expect("a name");
        let statement = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        admin(statement).await.expect("tests may end sessions");
    }

    /// Without what spreads it, on every server of a cluster: what a service has that grows onto one.
    pub async fn undistributed() -> Self {
        let database = Self::empty().await;
        postgres::migrate(&database.pool()).await.expect("the migrations run");
        database
    }

    /// The extension in it, on every server, and this number of workers known to the coordinator.
    pub async fn join_cluster(&self, workers: usize) {
        let name = self.name.as_deref().expect("a name");
        cluster::extend(&server_url(), name).await.expect("the extension is there");
        cluster::join(&server_url(), name, workers).await.expect("the machines reach each other");
    }

    /// Runs the statements of a block of the guide at the coordinator.
    pub async fn follow(&self, mark: &str) {
        let name = self.name.as_deref().expect("a name");
        cluster::follow(&server_url(), name, mark).await.expect("the guide is right");
    }

    /// The same database by another way; it is dropped by the usual one.
    pub fn reached_by(self, url: String) -> Self {
        let mut database = self;
        database.url = url;
        database
    }

    /// A server of the test's own, migrated.
    pub async fn of_server(url: &str) -> Self {
        let database = Self { url: url.to_owned(), name: None };
        postgres::migrate(&database.pool()).await.expect("the migrations run");
        database
    }

    pub fn pool(&self) -> PgPool {
        Database::connect(&self.url).expect("an address").pool
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(name) = &self.name else { return };
        let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(admin(statement))
        });
        let _ = dropping.join();
    }
}

/// How many statements with this text wait for a lock in the pool's database.
pub async fn statements_that_wait(pool: &PgPool, text: &str) -> i64 {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND datname = current_database() AND strpos(query, $1) > 0";
    query_scalar(waiting).bind(text).fetch_one(pool).await.unwrap()
}

/// The metadata in `.sqlx/` of every statement that is checked when the service is built.
pub fn described_statements() -> Vec<serde_json::Value> {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.sqlx")).unwrap();
    let texts = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.map(|text| serde_json::from_str(&text).unwrap()).collect()
}
