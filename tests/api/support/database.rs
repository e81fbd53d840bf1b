//! A database per test, copied from one that was migrated once.

use assent::platform::postgres;
use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::sync::OnceCell;

static TEMPLATE: OnceCell<String> = OnceCell::const_new();

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

async fn admin(statement: String) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(&server_url()).await?;
    connection.execute(sqlx::AssertSqlSafe(statement)).await?;
    connection.close().await
}

fn unique(kind: &str) -> String {
    format!("assent_{kind}_{}", assent::ids::random_text(12).to_lowercase())
}

async fn template() -> String {
    let name = unique("template");
    admin(format!("CREATE DATABASE {name}")).await.expect("tests may create databases");
    let pool = postgres::connect(&url_of(&name)).expect("an address");
    postgres::migrate(&pool).await.expect("the migrations run");
    pool.close().await;
    name
}

impl TestDatabase {
    pub async fn create() -> Self {
        let template = TEMPLATE.get_or_init(template).await;
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
        postgres::connect(&self.url).expect("an address")
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
