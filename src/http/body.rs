//! Request bodies: bounded in size and time, read as JSON whatever `Content-Type` says.

use std::collections::HashMap;
use std::time::Duration;

use rocket::Request;
use rocket::data::{Data, FromData, Outcome, ToByteUnit};
use rocket::http::Status;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::headers::header_of;
use super::problem;
use super::strict_json;
use crate::error::{Error, FieldError, Result};

/// A body that has not arrived by then is cut off: Rocket itself would wait for good.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const KIB: usize = 1024;
/// Room that is made for a body before it is there.
const LIKELY: usize = 64 * KIB;

/// A body of at most `LIMIT_KIB` KiB, not yet understood. A larger one is 413.
pub struct Body<const LIMIT_KIB: usize = 64>(pub Vec<u8>);

#[rocket::async_trait]
impl<'r, const LIMIT_KIB: usize> FromData<'r> for Body<LIMIT_KIB> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        match read(request, data, LIMIT_KIB * KIB).await {
            Ok(bytes) => Outcome::Success(Self(bytes)),
            Err(error) => {
                let status = Status::new(error.status());
                let _ = problem::reject::<()>(request, error);
                Outcome::Error((status, ()))
            }
        }
    }
}

async fn read(request: &Request<'_>, data: Data<'_>, limit: usize) -> Result<Vec<u8>> {
    let announced = header_of(request.headers(), "Content-Length").and_then(|len| len.parse().ok());
    // What is announced has not come yet, and need not come.
    let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(limit).min(LIKELY));
    // One byte more than allowed tells that there is more. Rocket's own `into_bytes` would go
    // through a buffer of 8 KiB, which costs small bodies more than all else that is done to them.
    let mut stream = data.open((limit + 1).bytes());
    let read = tokio::time::timeout(READ_TIMEOUT, stream.read_to_end(&mut bytes));
    // A body that breaks off is the sender's doing; nobody is left to read the answer.
    read.await.map_err(|_| Error::BodyTimeout)?.map_err(|_| Error::InvalidRequest)?;
    if bytes.len() > limit {
        return Err(Error::BodyTooLarge);
    }
    Ok(bytes)
}

impl<const LIMIT_KIB: usize> Body<LIMIT_KIB> {
    /// Reads a JSON object, or says `invalid request` (400).
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        strict_json::read_object(&self.0).map_err(|_| Error::InvalidRequest)
    }

    /// Reads a JSON object, or lists what is wrong with it (422).
    pub fn validated<T: DeserializeOwned>(&self) -> Result<T> {
        self.object()
            .and_then(|value| {
                serde_path_to_error::deserialize(value)
                    .map_err(|error| vec![type_error("body", &error)])
            })
            .map_err(Error::Validation)
    }

    /// Reads the fields of a posted form (`application/x-www-form-urlencoded`), the first value of
    /// each; what is no form has no fields.
    pub fn form(&self) -> HashMap<String, String> {
        let mut fields = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(&self.0) {
            fields.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        fields
    }

    /// Serde would read a struct from an array as well, so the shape is checked before.
    fn object(&self) -> std::result::Result<Value, Vec<FieldError>> {
        match strict_json::parse(&self.0) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err(vec![FieldError::new(&["body"], "must be a JSON object", "type_error")]),
            Err(error) => Err(vec![FieldError::new(&["body"], error.to_string(), "json_invalid")]),
        }
    }
}

/// What is wrong with a value, and where below `root`.
pub fn type_error(root: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let loc = std::iter::once(root.to_owned())
        .chain(error.path().iter().map(ToString::to_string))
        .collect();
    FieldError {
        loc,
        msg: without_value(&error.inner().to_string()),
        kind: "type_error".to_owned(),
    }
}

/// What was expected, without the value that came instead, which may be a code or a secret.
fn without_value(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => message.to_owned(),
    }
}

/// A required text field that is missing where no sentence of its own exists (422).
pub fn missing_field(field: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["body", field], "field required", "missing")])
}

/// The trimmed text, or `None` for a missing, null, empty or blank one.
pub fn present(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
