/// Passes the SQL for the end of the acceptance `receipt` to a query macro, before its other arguments, as literals
/// that are to be joined. If all receipts are of one pixel, `of` names the query's argument with its id, which
/// determines the machine on a cluster.
macro_rules! with_end {
    ($query:ident of $pixel:literal, $($arguments:tt)+) => {
        $query!(
            [
                "COALESCE(receipt.expires_at,
                 -- As an older node recorded it.
                 receipt.recorded_at + make_interval(hours => 24 * COALESCE(
                     (SELECT answered.consent_days FROM consent_policies AS answered
                      WHERE answered.pixel_id = ",
                $pixel,
                " AND answered.policy_hash = receipt.policy_hash LIMIT 1),
                     182)))"
            ],
            $($arguments)+
        )
    };
}
pub(crate) use with_end;
