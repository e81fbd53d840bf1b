use super::{Error, FieldError};

impl Error {
    /// Adds the fields that the refusal of an input (400, 422) concerns, or may concern. Other errors stay unchanged.
    pub fn naming(self, more: Vec<FieldError>) -> Self {
        match self {
            other if more.is_empty() || ![400, 422].contains(&other.status()) => other,
            Self::Validation(fields) => Self::Validation([fields, more].concat()),
            Self::Naming { refusal, fields } => {
                Self::Naming { refusal, fields: [fields, more].concat() }
            }
            other => Self::Naming { refusal: Box::new(other), fields: more },
        }
    }
}
