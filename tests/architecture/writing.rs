//! Everything that a customer or a stranger can have stored, sent or done by the service counts against a
//! rate limit or has a stated bound.

use std::collections::BTreeMap;

use super::rust::sources;

/// Public capabilities without a limit per client, and the bound of each.
const BOUNDED_OTHERWISE: &[(&str, &str)] = &[
    ("CheckConsent", "stores nothing; waits for its turn among the account's visitors"),
    ("ConfirmByLink", "the link is mailed, and confirms an account once"),
    ("CreateAccount", "counts against `Limit::Signups` unless an operator asks"),
    ("DisownAccount", "the link is mailed, and closes an account once"),
    ("ListPlans", "stores nothing"),
    ("ReadReceipt", "stores nothing; waits for its turn among the account's visitors"),
    ("ShowAccount", "stores nothing"),
    ("SignUp", "counts against `Limit::Signups` and the bucket of the mailbox"),
    ("StartSignIn", "counts against `Limit::Mails` and the buckets of the mailbox"),
    ("VerifyReceipt", "stores nothing"),
];

/// Scopes of keys that allow writing. Their calls count against the account's `AccountLimit`, which
/// `accounts::capability::admit` enforces.
const WRITING: [&str; 2] = ["Operates", "Governs"];
const READING: [&str; 2] = ["Reads", "Oversees"];

/// The bodies of all `impl Capability for`, by name.
fn capabilities() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for source in sources() {
        let program = source.program();
        for part in program.split("impl Capability for ").skip(1) {
            let (name, rest) = part.split_once(" {").expect("a body");
            let body = rest.split("\n}\n").next().unwrap_or(rest);
            found.insert(name.to_owned(), body.to_owned());
        }
    }
    found
}

fn access_of(body: &str) -> &str {
    let (_, rest) = body.split_once("type Access = ").expect("an access");
    rest.split(';').next().unwrap_or(rest)
}

#[test]
fn every_capability_that_writes_has_a_bucket_or_a_stated_bound() {
    let capabilities = capabilities();
    assert!(capabilities.len() > 60, "the capabilities were found");
    let mut unbounded = Vec::new();
    for (name, body) in &capabilities {
        let access = access_of(body);
        let scope = access.split_once('<').map(|(_, scope)| scope.trim_end_matches('>'));
        let has_limit = body.contains("const LIMIT: Option<Limit> = Some(");
        let is_bounded = match scope {
            Some(scope) => WRITING.contains(&scope) || READING.contains(&scope),
            None => has_limit || BOUNDED_OTHERWISE.iter().any(|(known, _)| known == name),
        };
        if !is_bounded {
            unbounded.push(format!("{name} ({access})"));
        }
    }
    assert!(unbounded.is_empty(), "without a limit: {unbounded:?}");
}

#[test]
fn stated_bounds_belong_to_capabilities_without_a_limit() {
    let capabilities = capabilities();
    for (name, bound) in BOUNDED_OTHERWISE {
        let body = capabilities.get(*name).unwrap_or_else(|| panic!("{name} is no capability"));
        assert!(!access_of(body).contains('<'), "{name} has the account's bucket");
        assert!(!body.contains("const LIMIT"), "{name} has a limit per client");
        assert!(!bound.is_empty());
    }
}

#[test]
fn the_accounts_bucket_applies_to_every_access_with_a_writing_scope() {
    let text = |path: &str| {
        let found = sources().into_iter().find(|source| source.path == path);
        found.expect("the file is there").program()
    };
    assert!(text("accounts/access.rs").contains("N::is_writing().then_some(caller)"));
    let capability = text("accounts/capability.rs");
    assert!(capability.contains("account_limits.admit(C::ACCOUNT_LIMIT"));
}
