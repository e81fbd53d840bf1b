//! Nodes that start: many at once on an empty database, an old one on a newer schema.

use futures_util::future::join_all;

use crate::database::TestDatabase;
use crate::process::{Process, program};
use crate::proxy::client;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn migrations_run_once_however_many_nodes_start() {
    let database = TestDatabase::empty().await;
    let nodes = join_all((0..4).map(|_| Process::start(program(&database.url)))).await;
    for node in &nodes {
        let answer = client().get(node.url("/healthz")).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let run = sqlx::query_as::<_, (i64,)>("SELECT count(*) FROM _sqlx_migrations WHERE success");
    let (run,) = run.fetch_one(&database.pool()).await.unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    assert_eq!(usize::try_from(run).unwrap(), std::fs::read_dir(folder).unwrap().count());
}

#[tokio::test]
async fn a_node_starts_again_after_one_of_a_later_version_has_migrated() {
    let database = TestDatabase::create().await;
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
        VALUES (9999, 'of a later version', true, '', 0)";
    sqlx::query(later).execute(&database.pool()).await.unwrap();
    let node = Process::start(program(&database.url)).await;
    let answer = client().get(node.url("/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}
