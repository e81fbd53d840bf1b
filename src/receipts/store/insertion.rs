//! The statement of the receipt writer, in its variants: with and without leaves for the log, with and
//! without events for endpoints.

/// The statement that inserts receipts, built from the optional text before and after it, further columns,
/// the columns of a `Batch`, and arguments after them. The parts are lists of literals, so that all
/// variants share one text.
macro_rules! insert_statement {
    (
        $query:ident, [$($before:literal)*], [$($columns:literal)?], [$($values:literal)?],
        [$($arrays:literal)*], [$($names:literal)?], [$($after:literal)*],
        $batch:ident $(, $more:expr)* $(,)?
    ) => {
        $query!(
            "WITH recordable AS MATERIALIZED (SELECT recordable_pixels($12) AS pixel_id)"
                $(+ $before)*
                + " INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin,
             consent_state, policy_hash, purposes, recorded_at, signature, choice_id, expires_at,
             shown_language, shown_notice, shown_script, shown_act, shown_seen, shown_automated"
                $(+ $columns)?
                + ") SELECT pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
             string_to_array(purposes, ','), recorded_at, signature, choice_id, expires_at,
             shown_language, shown_notice, shown_script, shown_act, shown_seen, shown_automated"
                $(+ $values)?
                + " FROM (
             SELECT job.*
             FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
                 $7::text[], $8::timestamptz[], $9::bytea[], $10::uuid[], $11::timestamptz[],
                 $13::timestamptz[], $14::text[], $15::bytea[], $16::bytea[], $17::text[],
                 $18::text[], $19::boolean[]"
                $(+ $arrays)*
                + ") WITH ORDINALITY AS job (pixel_id, receipt_id, visitor_id, origin, consent_state,
                 policy_hash, purposes, recorded_at, signature, choice_id, deadline, expires_at,
                 shown_language, shown_notice, shown_script, shown_act, shown_seen, shown_automated"
                $(+ $names)?
                + ", position)
             WHERE job.pixel_id IN (SELECT pixel_id FROM recordable)
             ORDER BY position OFFSET 0
         ) AS job
         WHERE clock_timestamp() < deadline
         ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING"
                $(+ $after)*,
            &$batch.pixel_ids as &[&str],
            &$batch.receipt_ids,
            &$batch.visitor_ids as &[&str],
            &$batch.origins as &[&str],
            &$batch.states as &[&str],
            &$batch.hashes as &[&str],
            &$batch.purposes,
            &$batch.times,
            &$batch.signatures as &[&[u8]],
            &$batch.choices as &[Option<Uuid>],
            &$batch.deadlines,
            &$batch.pixels as &[&str],
            &$batch.expiries as &[Option<DateTime<Utc>>],
            &$batch.languages as &[Option<&str>],
            &$batch.notices as &[Option<&[u8]>],
            &$batch.scripts as &[Option<&[u8]>],
            &$batch.acts as &[Option<&str>],
            &$batch.seen as &[Option<&str>],
            &$batch.automated as &[Option<bool>],
            $($more,)*
        )
    };
}

macro_rules! insert_plain {
    ($query:ident, [$($before:literal)*], [$($after:literal)*], $batch:ident $($more:tt)*) => {
        insert_statement!(
            $query, [$($before)*], [], [], [], [], [$($after)*], $batch $($more)*
        )
    };
}

/// Like [`insert_statement`], with the leaves of the receipts: these arguments are their salts, and their
/// hashes per pixel. All receipts of one batch share one number.
macro_rules! insert_with_leaves {
    (
        $query:ident, $salts:literal, $hashes:literal, [$($before:literal)*], [$($after:literal)*],
        $batch:ident $($more:tt)*
    ) => {
        insert_statement!(
            $query,
            [
                ", batch AS MATERIALIZED (SELECT nextval('log_batch_seq') AS number),
          leaves AS (
             INSERT INTO log_leaves (pixel_id, batch, hashes)
             SELECT leaf.pixel_id, batch.number, leaf.hashes
             FROM batch CROSS JOIN unnest($12::text[], " $hashes "::bytea[]) AS leaf (pixel_id, hashes)
             WHERE leaf.pixel_id IN (SELECT pixel_id FROM recordable)
         )"
                $($before)*
            ],
            [", salt, log_batch"],
            [", salt, (SELECT number FROM batch)"],
            [", " $salts "::bytea[]"],
            [", salt"],
            [$($after)*],
            $batch
            $($more)*
        )
    };
}

/// Like the others, but the same statement also inserts the events of new receipts for endpoints: in the same
/// table and form as `infra::events`, partitioned by pixel like the receipts.
macro_rules! insert_with_events {
    ($insert:ident, [$($first:literal),*], $batch:ident, $events:ident $($more:tt)*) => {
        $insert!(
            query_scalar,
            $($first,)*
            [", inserted AS ("],
            [
                " RETURNING pixel_id, receipt_id, seq),
          told AS (
             INSERT INTO webhook_deliveries (pixel_id, endpoint_id, event_id, kind, subject,
                 occurred_at, next_attempt_at)
             SELECT pixel_id, endpoint_id, event_id, $20::text, jsonb_build_object('seq', seq),
                 occurred_at, occurred_at
             FROM (
                 SELECT * FROM inserted JOIN unnest($21::uuid[], $22::text[], $23::uuid[],
                     $24::uuid[], $25::timestamptz[])
                     AS event (receipt_id, pixel_id, endpoint_id, event_id, occurred_at)
                     USING (pixel_id, receipt_id)
                 ORDER BY seq OFFSET 0
             ) AS event
         )
         SELECT count(*) AS \"count!\" FROM inserted"
            ],
            $batch,
            EventKind::ChoiceRecorded.as_str(),
            &$events.receipt_ids,
            &$events.partition_keys as &[&str],
            &$events.endpoint_ids,
            &$events.event_ids,
            &$events.times
            $($more)*
        )
    };
}
pub(super) use {insert_plain, insert_statement, insert_with_events, insert_with_leaves};
