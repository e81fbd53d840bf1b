use crate::infra::events::EventKind;

/// The kind of a test event, sent on request. Endpoints cannot unsubscribe from it.
pub const TEST: &str = "test";

pub fn known_kinds() -> Vec<String> {
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str());
    kinds.chain([TEST]).map(str::to_owned).collect()
}
