use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Receipt, SignedReceipt};
use crate::consent_receipt::user_action::UserAction;
use crate::error::{Error, Result};
use crate::types::consent::{ConsentState, Granted};
use crate::types::ids::{PixelId, VisitorId};

pub struct ReceiptRow {
    pub pixel_id: PixelId,
    pub receipt_id: Uuid,
    pub visitor_id: VisitorId,
    pub origin: String,
    pub consent_state: String,
    pub policy_hash: String,
    pub purposes: Vec<String>,
    pub recorded_at: DateTime<Utc>,
    pub signature: Vec<u8>,
}

/// A row of a newer version may contain unknown values. An unknown purpose is kept as it is; the meaning of
/// an unknown state cannot be guessed.
impl TryFrom<ReceiptRow> for SignedReceipt {
    type Error = Error;

    fn try_from(row: ReceiptRow) -> Result<Self> {
        let state = ConsentState::parse(&row.consent_state).ok_or_else(|| {
            Error::internal(format_args!("a receipt has the state {}", row.consent_state))
        })?;
        Ok(Self {
            receipt: Receipt {
                pixel_id: row.pixel_id,
                receipt_id: row.receipt_id,
                visitor_id: row.visitor_id,
                origin: row.origin,
                consent_state: state,
                policy_hash: row.policy_hash,
                purposes: row.purposes.into_iter().map(Granted::from).collect(),
                recorded_at: row.recorded_at,
            },
            signature: row.signature,
        })
    }
}

/// A query for the columns of `receipt` and others, completed by the rest of a `SELECT`.
macro_rules! select_receipt {
    ($first:literal $(+ $others:literal)*, $rest:literal, $($argument:expr),+ $(,)?) => {
        ::sqlx::query!(
            "SELECT receipt.pixel_id AS \"pixel_id!: PixelId\",
                 receipt.receipt_id AS \"receipt_id!\",
                 receipt.visitor_id AS \"visitor_id!: VisitorId\", receipt.origin AS \"origin!\",
                 receipt.consent_state AS \"consent_state!\",
                 receipt.policy_hash AS \"policy_hash!\", receipt.purposes AS \"purposes!\",
                 receipt.recorded_at AS \"recorded_at!\", receipt.signature AS \"signature!\", "
                + $first $(+ $others)* + " " + $rest,
            $($argument),+
        )
    };
}

/// The receipt in a record of a query with additional columns: such records have a distinct type for every
/// query.
macro_rules! receipt_of {
    ($row:ident) => {
        SignedReceipt::try_from($crate::receipts::store::rows::ReceiptRow {
            pixel_id: $row.pixel_id,
            receipt_id: $row.receipt_id,
            visitor_id: $row.visitor_id,
            origin: $row.origin,
            consent_state: $row.consent_state,
            policy_hash: $row.policy_hash,
            purposes: $row.purposes,
            recorded_at: $row.recorded_at,
            signature: $row.signature,
        })
    };
}
/// The data shown to the visitor, from a record that has these columns.
macro_rules! shown_of {
    ($row:ident) => {
        $crate::receipts::store::rows::shown(
            $row.shown_language,
            $row.shown_notice,
            $row.shown_script,
            $crate::consent_receipt::user_action::UserAction::from_stored(
                $row.shown_act.as_deref(),
                $row.shown_seen.as_deref(),
                $row.shown_automated,
            ),
        )
    };
}
pub(crate) use {receipt_of, select_receipt, shown_of};

/// An invalid hash is omitted: it proves nothing.
pub fn shown(
    language: Option<String>,
    notice: Option<Vec<u8>>,
    script: Option<Vec<u8>>,
    action: UserAction,
) -> Option<Shown> {
    let digest = |bytes: Option<Vec<u8>>| bytes?.try_into().ok();
    Some(Shown { language: language?, notice: digest(notice), script: digest(script), action })
}

/// The results in a list of this length, each at its index; ordinals count from 1.
pub fn by_position<T>(len: usize, found: impl Iterator<Item = (i64, T)>) -> Result<Vec<Option<T>>> {
    let mut slots = Vec::new();
    slots.resize_with(len, || None);
    for (position, value) in found {
        let index = usize::try_from(position - 1).map_err(Error::internal)?;
        if let Some(slot) = slots.get_mut(index) {
            *slot = Some(value);
        }
    }
    Ok(slots)
}

pub fn pixels_of(pixel_ids: impl Iterator<Item = impl Into<String>>) -> Vec<String> {
    pixel_ids.map(Into::into).collect::<BTreeSet<_>>().into_iter().collect()
}
