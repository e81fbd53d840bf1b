//! Account routes: one test per row and per refusal.

use crate::support::App;

#[tokio::test]
async fn plans_are_the_trial_and_the_unlimited_one() {
    let app = App::spawn().await;
    let plans = app.get("/v1/plans").await.expect(200);
    assert_eq!(plans["plans"][0]["id"], "free");
    assert_eq!(plans["plans"][0]["trial_days"], 30);
    assert_eq!(plans["plans"][1]["selectable"], false);
}

#[tokio::test]
async fn an_account_can_be_opened_and_confirmed() {
    let app = App::spawn().await;
    let account = app.account("ann@example.com").await;
    assert!(account.key.starts_with("px_"));
}
