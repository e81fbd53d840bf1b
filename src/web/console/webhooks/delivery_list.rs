//! The list of deliveries to an endpoint: filters, pages, and the payload of one row.

use serde_json::{Value, json};

use super::failure;
use crate::error::Result;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::web::console::kit::member::Member;
use crate::webhooks::delivery::{DeliveryState, DeliveryView};
use crate::webhooks::endpoint::EndpointView;
use crate::webhooks::format::Format;
use crate::webhooks::kinds::TEST;
use crate::webhooks::payload;

const PAGE: usize = 20;

/// The filters and the page of the query string. An unknown state or an invalid page number is ignored.
#[derive(Default)]
pub struct DeliveryQuery {
    state: Option<DeliveryState>,
    kind: Option<String>,
    page: usize,
    open: Option<String>,
}

impl DeliveryQuery {
    pub fn of(query: &Query) -> Self {
        let page = query.get("page").and_then(|page| page.parse::<usize>().ok());
        Self {
            state: query.present("state").and_then(DeliveryState::parse),
            kind: query.present("type").map(str::to_owned),
            page: page.unwrap_or(1).saturating_sub(1),
            open: query.present("payload").map(str::to_owned),
        }
    }

    fn matches(&self, delivery: &DeliveryView) -> bool {
        self.state.is_none_or(|state| state == delivery.state)
            && self.kind.as_ref().is_none_or(|kind| *kind == delivery.r#type)
    }

    fn query_string(&self, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(state) = self.state {
            query.append_pair("state", state.as_str());
        }
        if let Some(kind) = &self.kind {
            query.append_pair("type", kind);
        }
        if page > 0 {
            query.append_pair("page", &(page + 1).to_string());
        }
        query.finish()
    }
}

pub async fn list(
    member: &Member<'_>,
    endpoint: &EndpointView,
    deliveries: &[DeliveryView],
    delivery_query: &DeliveryQuery,
) -> Result<Value> {
    let matching = deliveries.iter().filter(|delivery| delivery_query.matches(delivery));
    let matching = matching.collect::<Vec<_>>();
    let last = matching.len().saturating_sub(1) / PAGE;
    let page = delivery_query.page.min(last);
    let mut rows = Vec::new();
    for delivery in matching.iter().skip(page * PAGE).take(PAGE) {
        let mut row = row(delivery);
        if delivery_query.open.as_deref() == Some(&*delivery.event_id.to_string()) {
            row["is_open"] = json!(true);
            row["payload"] = json!(payload_of(member, endpoint, delivery).await?);
        }
        rows.push(row);
    }
    let state = |state: &DeliveryState| {
        let count = deliveries.iter().filter(|delivery| delivery.state == *state).count();
        json!({
            "name": state.as_str(),
            "title": title(*state),
            "count": count,
            "is_on": delivery_query.state == Some(*state),
        })
    };
    let mut kinds = deliveries.iter().map(|delivery| &*delivery.r#type).collect::<Vec<_>>();
    kinds.sort_unstable();
    kinds.dedup();
    let is_failed = |it: &&DeliveryView| it.state == DeliveryState::Failed && it.r#type != TEST;
    Ok(json!({
        "rows": rows,
        "kept": deliveries.len(),
        "matching": matching.len(),
        "states": DeliveryState::ALL.iter().map(state).collect::<Vec<_>>(),
        "kinds": kinds,
        "kind": delivery_query.kind,
        "is_filtered": delivery_query.state.is_some() || delivery_query.kind.is_some(),
        "failed": deliveries.iter().filter(is_failed).count(),
        "query": delivery_query.query_string(page),
        "previous": (page > 0).then(|| delivery_query.query_string(page - 1)),
        "next": (page < last).then(|| delivery_query.query_string(page + 1)),
    }))
}

fn title(state: DeliveryState) -> Message {
    match state {
        DeliveryState::Delivered => tr("Delivered"),
        DeliveryState::Waiting => tr("Retrying"),
        DeliveryState::Failed => tr("Failed"),
    }
}

fn row(delivery: &DeliveryView) -> Value {
    json!({
        "id": delivery.event_id,
        "type": delivery.r#type,
        "when": Message::Second(delivery.occurred_at.0),
        "tried": delivery.attempted_at.as_ref().map(|time| Message::Second(time.0)),
        "attempts": delivery.attempts,
        "state": title(delivery.state),
        "is_well": delivery.state == DeliveryState::Delivered,
        "status": delivery.status,
        "answer": delivery.answer.as_ref().filter(|answer| !answer.is_empty()),
        "failure": delivery.failure.as_deref().map(failure::in_words),
        "is_test": delivery.r#type == TEST,
    })
}

async fn payload_of(
    member: &Member<'_>,
    endpoint: &EndpointView,
    delivery: &DeliveryView,
) -> Result<Option<String>> {
    let Some(format) = Format::parse(&endpoint.format) else { return Ok(None) };
    let (infra, event_id) = (&member.app.infra, delivery.event_id);
    let body = payload::of(infra, endpoint.endpoint_id, format, event_id).await?;
    let json = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    Ok(json.map(|json| format!("{json:#}")))
}
