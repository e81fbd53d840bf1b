//! Scripts of `--browser` with arguments of their own.

use crate::runs::{Watcher, watch_by};
use crate::sites::Sites;

/// Removes the list of features, as another list in its stead does.
const WITHOUT_FEATURES: &str = r#"for argument in "$@"; do shift; case "$argument" in
    --disable-features=*) ;;
    *) set -- "$@" "$argument" ;;
    esac; done"#;

/// Browsers ask a server of their own about the fields of such forms.
const FORMS: &str = "<form action='/order' method='post'><input name='name' autocomplete='name'>
    <input name='street'><input name='city'><input name='postcode'><input name='tel' type='tel'>
    <button>Order</button></form>
    <form action='/sign-in' method='post'><input name='email' type='email'>
    <input name='password' type='password'><button>Sign in</button></form>";

#[tokio::test]
async fn a_page_with_forms_is_silent_although_a_script_replaces_the_list_of_features() {
    let page = format!("<!doctype html><title>Shop</title>{FORMS}");
    let sites = Sites::start(&[("shop.test/", page)]).await;
    let watcher = Watcher::after(WITHOUT_FEATURES);
    let run = watch_by(watcher, &[], &[&sites.url("shop.test/")]).await;
    run.ends_with(2);
    run.has_no_leak(0);
}
