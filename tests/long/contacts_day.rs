//! A day that is read while it is longer than the program may grow.

use crate::memory::{forget_peak, peak};
use crate::support::contacts::insert_contacts;
use crate::support::process::program;
use crate::support::{App, Process};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_100_000_contacts_is_streamed_with_flat_memory() {
    const COUNT: i32 = 100_000;
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    let small = app.pixel(&owner.key, "small.example").await;
    insert_contacts(&app.pool, &small, 1_000, 300).await;
    insert_contacts(&app.pool, &pixel, COUNT, 300).await;
    sqlx::query("ANALYZE contacts").execute(&app.pool).await.unwrap();
    // The program itself, so that its memory can be told from the test's.
    let service = Process::start(program(&app.database.url)).await;
    let read = async |pixel: &str, form: &str| {
        let url = service.url(&format!("/v1/pixels/{pixel}/contacts?on=2026-03-10&format={form}"));
        let request = app.client.get(url).bearer_auth(&owner.key);
        let mut response = request.send().await.expect("it answers");
        assert_eq!(response.status(), 200);
        let (mut bytes, mut contacts, mut last) = (0_u64, 0, 0);
        while let Some(chunk) = response.chunk().await.expect("it ends as it should") {
            bytes += chunk.len() as u64;
            contacts += chunk.iter().filter(|&&byte| byte == b'{').count();
            last = *chunk.last().unwrap_or(&last);
        }
        assert_eq!(last, if form == "csv" { b'\n' } else { b'}' });
        (bytes / 1024, contacts)
    };
    // The braces of a day: as JSON two a contact and one for the whole, as CSV one a contact.
    for (form, braces) in [("json", [2_001, 200_001]), ("csv", [1_000, 100_000])] {
        // Warm: pools, caches and buffers are what a short day needs.
        assert_eq!(read(&small, form).await.1, braces[0]);
        forget_peak(service.id());
        let before = peak(service.id());
        let (kib, found) = read(&pixel, form).await;
        let grown = peak(service.id()).saturating_sub(before);
        eprintln!("{kib} KiB of {form} sent, peak of {before} KiB grew by {grown} KiB");
        assert_eq!(found, braces[1]);
        assert!(kib > 40_000, "the day is long: {kib} KiB");
        assert!(grown < 8_000, "{grown} KiB for a day of {kib} KiB");
    }
}
