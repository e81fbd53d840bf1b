//! Clients that others wrote read the log as it is.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use assent::clock::Clock;
use assent::proof::format::cosignature::CosigningKey;
use assent::proof::log::Log;
use chrono::Duration;
use sqlx::query_scalar;

use crate::support::App;
use crate::support::postgres::database::TestDatabase;
use crate::support::server::{infra, start_of_time};
use crate::support::transparency_log::log::{LOG_KEY, PUBLISH_MANY, parse};

/// Around each size at which a tile, or a level, becomes full.
const SIZES: [i32; 8] = [0, 1, 255, 256, 257, 65_536, 65_537, 70_000];

/// A log that was signed at each of the sizes; the notes are put into the folder.
async fn grown(folder: &Path) -> Arc<TestDatabase> {
    let database = Arc::new(TestDatabase::create().await);
    let pool = database.pool();
    let clock = Clock::manual(start_of_time());
    let log = Log::new(infra(&database, clock.clone(), &[LOG_KEY]));
    let mut before = 0;
    for size in SIZES {
        let more = sqlx::query(PUBLISH_MANY).bind(before).bind(size - before);
        more.execute(&pool).await.unwrap();
        log.append_pending().await.unwrap();
        // The next state is signed some time after this one.
        clock.advance(Duration::seconds(2));
        let note = query_scalar::<_, String>("SELECT checkpoint FROM log_head");
        let note = note.fetch_one(&pool).await.unwrap();
        assert_eq!(parse(&note).0, usize::try_from(size).unwrap());
        // Witnesses sign below the log, and who does not know them reads on.
        let witness = |number: u8| {
            let key = CosigningKey::new(&format!("w{number}.example"), &[number; 32]).unwrap();
            let (text, _) = note.split_once("\n\n").unwrap();
            key.cosign(&format!("{text}\n"), 1_800_000_000)
        };
        let note = format!("{note}{}{}", witness(1), witness(2));
        std::fs::write(folder.join(size.to_string()), note).unwrap();
        before = size;
    }
    database
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|kind| kind == "go") {
            std::fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
    }
}

/// A workspace in which Go finds the code of its own checksum database's client: it brings it along,
/// and lets nobody else use it from there.
fn workspace(folder: &Path) {
    let root = Command::new("go").args(["env", "GOROOT"]).output().expect("Go is there");
    let root = String::from_utf8(root.stdout).unwrap();
    let vendored = Path::new(root.trim()).join("src/cmd/vendor/golang.org/x");
    for package in ["mod/sumdb/note", "mod/sumdb/tlog", "crypto/ed25519"] {
        let from = vendored.join(package);
        if from.exists() {
            copy(&from, &folder.join("src/golang.org/x").join(package));
        }
    }
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/log"), &folder.join("src/check"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_gos_checksum_database_proves_every_record_and_notices_every_changed_byte() {
    let (notes, go) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = grown(notes.path()).await;
    let app = App::spawn_on(database, Clock::manual(start_of_time()), &[LOG_KEY]).await;
    let log = app.get("/log/policy").await.text;
    workspace(go.path());
    let mut command = Command::new("go");
    command
        .args(["run", "check", &app.base, log.split(' ').nth(1).unwrap()])
        .arg(notes.path())
        .current_dir(go.path())
        .env("GOPATH", go.path())
        .env("GO111MODULE", "off")
        .env("GOFLAGS", "")
        .env("NO_PROXY", "localhost");
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = running.await.unwrap().expect("Go starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for size in &SIZES[1..] {
        assert!(said.contains(&format!("size {size} cosigned 2\n")), "{said}");
    }
    let parts = ["0/000", "0/273.p/112", "1/000", "1/001.p/17", "2/000.p/1", "entries/000"];
    for part in parts.into_iter().chain(["entries/273.p/112"]) {
        assert!(said.contains(&format!("spoilt {part}\n")), "{said}");
    }
}
