//! Suppressions in the console, one by one and from a file.

use std::time::Duration;

use reqwest::Method;

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::contacts::hem;
use crate::support::{Account, Answer, App, fresh_address};

const LIST: &str = "/console/account/suppressed";
const UPLOAD: &str = "/console/account/suppressed/import";

fn of(number: usize) -> String {
    format!("{LIST}/person?hem={}", hem(number))
}

/// The form with the file as a browser sends it: its parts, in order.
fn parts(parts: &[(&str, &str)]) -> String {
    let part = |(head, text): &(&str, &str)| {
        format!("--edge\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n")
    };
    parts.iter().map(part).collect::<String>() + "--edge--\r\n"
}

const FILE: &str = "name=\"file\"; filename=\"list.csv\"";
const TOKEN: &str = "name=\"form_token\"";
const WORD: &str = "name=\"word\"";

async fn send(browser: &mut Browser<'_>, origin: &str, body: String) -> Answer {
    let request = browser
        .request(Method::POST, UPLOAD)
        .header("origin", origin)
        .header("content-type", "multipart/form-data; boundary=edge")
        .body(body);
    browser.send(request).await
}

/// Sends a file with the page's form, and this word typed.
async fn upload_with(browser: &mut Browser<'_>, word: &str, file: &str) -> Answer {
    let token = token_of(&browser.page(LIST).await);
    let origin = browser.app.base.clone();
    send(browser, &origin, parts(&[(TOKEN, &token), (WORD, word), (FILE, file)])).await
}

async fn upload(browser: &mut Browser<'_>, file: &str) -> Answer {
    upload_with(browser, "never", file).await
}

async fn with_people(app: &App) -> (Account, String) {
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 1..4).await.expect(200);
    (ann, pixel)
}

#[tokio::test]
async fn a_person_is_suppressed_everywhere_and_released_again() {
    let app = App::spawn().await;
    let (ann, pixel) = with_people(&app).await;
    let mut browser = app.browser_of(&ann.key).await;
    assert!(browser.page(LIST).await.contains("The list is empty"));
    let page = browser.page(&of(1)).await;
    assert!(page.contains("not suppressed") && page.contains("from one site"), "{page}");
    let add = format!("{LIST}/{}/add", hem(1));
    let refused = browser.submit(&of(1), &add, &[("word", "perhaps")]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("id=\"word-error\""), "{}", refused.text);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 3);
    let added = browser.submit(&of(1), &add, &[("word", "Never")]).await;
    leads_to(&added, &format!("{LIST}?done=added"));
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 2);
    assert!(browser.page(LIST).await.contains(&hem(1)));
    assert!(browser.page(&of(1)).await.contains("since 10 March 2026"));
    let elsewhere = format!("/console/sites/{pixel}/contacts/find?hem={}", hem(1));
    assert!(browser.page(&elsewhere).await.contains("suppressed"), "the site's screen says so");

    let remove = format!("{LIST}/{}/remove", hem(1));
    leads_to(&browser.submit(&of(1), &remove, &[]).await, &format!("{LIST}?done=removed"));
    app.store_people(&ann.key, &pixel, 1..2).await.expect(200);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 3);
    let unknown = format!("{LIST}/{}/add", hem(9));
    leads_to(&browser.submit(&of(9), &unknown, &[]).await, &format!("{LIST}?done=added"));
    for odd in ["", "?hem=ab", "?hem=%00"] {
        let refused = browser.get(&format!("{LIST}/person{odd}")).await;
        assert_eq!(refused.status, 400, "{odd}");
    }
}

#[tokio::test]
async fn a_list_is_taken_as_a_file_and_its_progress_has_an_address() {
    let app = App::spawn().await;
    let (ann, pixel) = with_people(&app).await;
    let mut browser = app.browser_of(&ann.key).await;
    let file = format!("hem\r\n{}\r\n{}\r\n{}\r\nnobody\r\n", hem(1), hem(2), hem(8));
    let taken = upload(&mut browser, &file).await;
    assert_eq!(taken.status, 303, "{}", taken.text);
    let progress = taken.header("location").unwrap().to_owned();
    let mut done = String::new();
    for _ in 0..600 {
        let page = browser.get(&progress).await;
        assert_eq!(page.status, 200, "{}", page.text);
        if page.text.contains("The import is complete") {
            assert_eq!(page.header("refresh"), None);
            done = page.text;
            break;
        }
        assert_eq!(page.header("refresh"), Some("3"), "it looks again by itself");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let figure = |number| done.contains(&format!("<span class=\"figure\">{number}</span>"));
    assert!(figure(4) && figure(3) && figure(2) && figure(1), "{done}");
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 1);
    let list = browser.page(LIST).await;
    assert!(list.contains("on a list") && list.contains("Recent imports"), "{list}");

    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    assert_eq!(stranger.get(&progress).await.status, 404);
    assert!(!stranger.page(LIST).await.contains(&hem(1)));
    assert!(stranger.page(&of(1)).await.contains("not suppressed"), "the list is the account's");
}

#[tokio::test]
async fn a_file_that_is_none_or_too_large_is_refused_beside_its_field() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    for word in ["", "perhaps", &"never".repeat(100)] {
        let refused = upload_with(&mut browser, word, &hem(1)).await;
        assert!([400, 422].contains(&refused.status), "{}", refused.status);
        let is_beside = refused.text.contains("id=\"word-error\"");
        assert!(is_beside || word.len() > 256, "{}", refused.text);
    }
    let refused = upload(&mut browser, "").await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("Choose a file"), "{}", refused.text);
    let refused = upload(&mut browser, &"x".repeat(17 * 1024 * 1024)).await;
    assert_eq!(refused.status, 413);
    assert!(!browser.page(LIST).await.contains("Recent imports"), "nothing is left of it");
}

#[tokio::test]
async fn a_file_is_taken_from_the_sessions_own_page_only() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let token = token_of(&browser.page(LIST).await);
    let (own, list) = (app.base.clone(), hem(1));
    for (origin, form) in [
        ("https://evil.example", parts(&[(TOKEN, &token), (WORD, "never"), (FILE, &list)])),
        (&*own, parts(&[(FILE, &list)])),
        (&*own, parts(&[(WORD, "never"), (FILE, &list)])),
        (&*own, parts(&[(TOKEN, &token), (FILE, &list)])),
        (&*own, parts(&[(WORD, "never"), (FILE, &list), (TOKEN, &token)])),
        (&*own, parts(&[(TOKEN, "nonsense"), (WORD, "never"), (FILE, &list)])),
        (&*own, parts(&[(TOKEN, ""), (WORD, "never"), (FILE, &list)])),
        (&*own, parts(&[(TOKEN, &token), (WORD, "never"), ("name=\"other\"", &list)])),
        (&*own, parts(&[(TOKEN, &"x".repeat(10_000)), (FILE, &list)])),
        (&*own, "no form".to_owned()),
    ] {
        let refused = send(&mut browser, origin, form).await;
        assert!([400, 403].contains(&refused.status), "{}: {}", refused.status, refused.text);
    }
    let mut nobody = Browser::new(&app);
    let form = parts(&[(TOKEN, &token), (WORD, "never"), (FILE, &list)]);
    leads_to(&send(&mut nobody, &own, form).await, "/console/sign-in");
    assert!(browser.page(LIST).await.contains("The list is empty"));
}

#[tokio::test]
async fn the_list_has_pages() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    sqlx::query(
        "INSERT INTO suppressions (account_id, hem, source, created_at)
         SELECT $1, sha256(n::text::bytea), 'import', now() FROM generate_series(1, 51) AS n",
    )
    .bind(&ann.account_id)
    .execute(&app.pool)
    .await
    .unwrap();
    let mut browser = app.browser_of(&ann.key).await;
    let rows = |page: &str| page.matches("/person?hem=").count();
    let first = browser.page(LIST).await;
    assert_eq!(rows(&first), 50);
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(rows(&browser.page(next).await), 1);
    assert_eq!(browser.get(&format!("{LIST}?after=x")).await.status, 422);
}

#[tokio::test]
async fn the_data_before_the_file_is_limited() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let token = token_of(&browser.page(LIST).await);
    let own = app.base.clone();
    let (before, file) =
        (parts(&[(TOKEN, &token), (WORD, "never")]).replace("--edge--\r\n", ""), hem(1));
    let head = "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"";
    for form in [
        // The boundary never comes.
        "x".repeat(1 << 20),
        format!("{}{before}", "x".repeat(9_000)),
        // The headers of a part never end, or have very many lines.
        format!("--edge\r\nX-Long: {}", "x".repeat(1 << 20)),
        format!("{before}{head}\r\nX-Long: {}", "x".repeat(1 << 20)),
        format!("{before}{head}\r\n{}\r\n{file}\r\n--edge--\r\n", "X-Line: 1\r\n".repeat(900)),
        // The text before the file never ends.
        format!("--edge\r\nContent-Disposition: form-data; {TOKEN}\r\n\r\n{}", "x".repeat(1 << 20)),
    ] {
        let refused = send(&mut browser, &own, form).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    assert!(!browser.page(LIST).await.contains("Recent imports"), "nothing is left of it");
    let far = format!("{}{before}{head}\r\n\r\n{file}\r\n--edge--\r\n", "x".repeat(4_000) + "\r\n");
    assert_eq!(send(&mut browser, &own, far).await.status, 303);
}

#[tokio::test]
async fn a_member_without_the_right_to_import_is_refused_before_the_form_is_parsed() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let reader = fresh_address("reader");
    sqlx::query(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES (gen_random_uuid(), $1, $2, 'read', now())",
    )
    .bind(&ann.account_id)
    .bind(&reader)
    .execute(&app.pool)
    .await
    .unwrap();
    let mut browser = Browser::new(&app);
    browser.sign_in(&reader).await;
    let own = app.base.clone();
    for form in ["no form".to_owned(), "x".repeat(1 << 20), parts(&[(FILE, &hem(1))])] {
        let refused = send(&mut browser, &own, form).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
    }
}
