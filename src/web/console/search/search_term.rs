use uuid::Uuid;

use crate::types::hem::Hem;
use crate::types::ids::VisitorId;

/// The maximum length of a search text, in characters: that of a host.
const MAX_TEXT: usize = 253;

/// The search text, and the ids as which it can be parsed.
pub struct SearchTerm {
    pub text: String,
    /// Whether the text was typed into the form. Otherwise it is not searched as a name or an email address.
    pub is_typed: bool,
    pub id: Option<Uuid>,
    pub hem: Option<Hem>,
    pub visitor_id: Option<VisitorId>,
}

impl SearchTerm {
    pub fn typed(text: &str) -> Self {
        Self { is_typed: true, ..Self::of_address(text) }
    }

    pub fn of_address(text: &str) -> Self {
        // A text in PostgreSQL cannot contain NUL.
        let text = text.trim().chars().filter(|character| *character != '\0').take(MAX_TEXT);
        let text = text.collect::<String>();
        Self {
            is_typed: false,
            id: text.parse().ok(),
            hem: Hem::parse(&text).ok(),
            visitor_id: VisitorId::parse(&text),
            text,
        }
    }

    pub fn may_be_name(&self) -> bool {
        self.id.is_none() && self.hem.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_every_id_that_it_can_be() {
        let uuid = "019cd7a4-1f40-7b1d-8c53-2e9f4a7d6b10";
        let term = SearchTerm::typed(uuid);
        assert!(term.id.is_some() && term.visitor_id.is_some() && !term.may_be_name());
        let term = SearchTerm::typed(&"aB".repeat(32));
        assert!(term.hem.is_some() && term.id.is_none());
        let term = SearchTerm::of_address("ann@shop.example");
        assert!(term.visitor_id.is_none() && term.may_be_name() && !term.is_typed);
        assert_eq!(SearchTerm::typed(&"é".repeat(300)).text.chars().count(), MAX_TEXT);
    }
}
