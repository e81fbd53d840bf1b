use super::{Error, FieldError};

impl Error {
    /// The refusal of an input (400, 422) with fields that it is, or may be, about.
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
