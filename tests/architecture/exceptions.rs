//! The statements that a cluster (docs/scaling.md) does not send to one machine unchanged, each identified by a
//! text that no other statement contains. One test applies them to the statements, another to the cluster's plans.

/// Statements that may be sent to all machines.
pub const ASK_MANY: &[(&str, &str)] = &[
    ("SELECT min(pixel_id) FROM consent_shown WHERE", "retention: the next pixel of all"),
    ("SELECT min(pixel_id) FROM consent_shown_local", "retention: the next pixel of all"),
    ("SELECT min(pixel_id) FROM consent_receipts", "retention: the next pixel of all"),
    ("DELETE FROM withdrawn_contacts WHERE (pixel_id, position) IN", "retention"),
    ("FROM contacts WHERE hidden_at <= $1", "erasure of hidden contacts: the pixels that have any"),
    ("FROM consent_changes UNION", "a round over all pixels whose contacts lost their consent"),
    ("WHERE (pixel_id, version) > ($1, $2)", "an hourly round over all policies, for the log"),
    ("FROM log_leaves WHERE epoch IS NULL", "the log: the waiting leaves of all pixels"),
    ("UPDATE log_leaves SET epoch = $1", "the log: leaves that no longer wait"),
    ("SELECT version FROM consent_policies WHERE account_id", "deletion of a whole account"),
    (
        "SELECT DISTINCT pixel_id FROM consent_policies WHERE account_id",
        "export and erasure of an account",
    ),
    (
        "FROM consent_policies WHERE account_id = $1 AND policy_hash = ANY($2)",
        "an owner looks up old texts, also of deleted pixels",
    ),
];

/// Statements that the coordinator executes: it splits an `INSERT ... SELECT`, and its count omits conflicts, so
/// nothing may depend on the number of rows.
pub const BY_THE_COORDINATOR: &[(&str, &str)] = &[
    (
        "WITH recordable AS MATERIALIZED",
        "one PostgreSQL only; `receipts/cluster/store` has the other form",
    ),
    ("FROM recordable_pixels(ARRAY[$1::text])", "one PostgreSQL only, like the one above"),
    ("INSERT INTO contacts", "many people at once"),
    ("INSERT INTO contact_visitors", "many people at once"),
    ("INSERT INTO withdrawn_contacts", "many people at once"),
    ("INSERT INTO consent_counted", "only of a pixel that still exists"),
    (
        "INSERT INTO consent_days (pixel_id, time_zone, day, shown, choosers, choices) SELECT",
        "daily counts",
    ),
];

/// Statements for one PostgreSQL only. Where tables are distributed, the functions of the same name in
/// `receipts/cluster/store` and `receipts/store/latest_of_pixels.rs` are used instead.
pub const ONE_POSTGRES: &[(&str, &str)] = &[
    ("WITH recordable AS MATERIALIZED", "insert_receipts"),
    ("AS job (pixel_id, visitor_id, receipt_id, choice_id, position)", "list_stored"),
    ("AS asked (name, visitors, number)", "list_latest"),
];
