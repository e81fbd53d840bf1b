//! Request bodies: bounded in size and time, read as JSON whatever `Content-Type` says.

pub mod upload;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rocket::Request;
use rocket::data::{Data, DataStream, FromData, Outcome, ToByteUnit};
use rocket::http::Status;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::io::AsyncReadExt;

use super::header_value::header_of;
use super::problem;
use crate::error::{BODY, Error, FieldError, Result};
use crate::idempotency;
use crate::types::json::bounds::Bounds;
use crate::types::json::{bounds as json_shape, shape, strict as strict_json};

/// Timeout for reading a body, because Rocket has none.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const KIB: usize = 1024;
const MOST_FIELDS: usize = 50;
/// Maximum number of form fields. Without this limit, a body of 64 KiB could contain thirty thousand.
const MOST_FORM_FIELDS: usize = 1_000;
const LIKELY: usize = 64 * KIB;

/// The bounds of the largest body: a hundred values for each of a thousand contacts.
pub const MOST_JSON: Bounds = Bounds { values: 100_000, depth: 64 };

/// An unparsed body of at most `LIMIT_KIB` KiB. A larger one is 413.
pub struct Body<const LIMIT_KIB: usize = 64>(pub Vec<u8>);

#[rocket::async_trait]
impl<'r, const LIMIT_KIB: usize> FromData<'r> for Body<LIMIT_KIB> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        outcome(request, Self::read_from(request, data).await)
    }
}

/// Converts a result to a data guard's outcome. The client receives an error as if a route had returned it.
pub fn outcome<'r, T: FromData<'r, Error = ()>>(
    request: &Request<'_>,
    result: Result<T>,
) -> Outcome<'r, T> {
    match result {
        Ok(value) => Outcome::Success(value),
        Err(error) => {
            let status = Status::new(error.status());
            let _ = problem::reject::<()>(request, error);
            Outcome::Error((status, ()))
        }
    }
}

async fn read(request: &Request<'_>, data: Data<'_>, limit: usize) -> Result<Vec<u8>> {
    // A client may announce a longer body than it sends, so the reserved memory is limited.
    let mut bytes = Vec::with_capacity(announced(request).unwrap_or(0).min(limit).min(LIKELY));
    // Reads one byte more than the limit to detect a body that is too large. Rocket's `into_bytes`
    // uses a buffer of 8 KiB, which dominates the cost of small bodies.
    let mut stream = data.open((limit + 1).bytes());
    read_on(&mut stream, &mut bytes, limit + 1).await?;
    if bytes.len() > limit {
        return Err(Error::BodyTooLarge);
    }
    Ok(bytes)
}

pub fn announced(request: &Request<'_>) -> Option<usize> {
    header_of(request.headers(), "Content-Length").and_then(|len| len.parse().ok())
}

/// Reads until the body ends or `bytes` contains `most` bytes, for at most 10 seconds.
pub async fn read_on(stream: &mut DataStream<'_>, bytes: &mut Vec<u8>, most: usize) -> Result<()> {
    let room = most.saturating_sub(bytes.len()) as u64;
    let mut part = stream.take(room);
    let read = tokio::time::timeout(READ_TIMEOUT, part.read_to_end(bytes));
    read.await.map_err(|_| Error::BodyTimeout)?.map_err(|_| Error::InvalidRequest)?;
    Ok(())
}

impl<const LIMIT_KIB: usize> Body<LIMIT_KIB> {
    /// Reads the body, for guards that also use other parts of the request.
    pub async fn read_from(request: &Request<'_>, data: Data<'_>) -> Result<Self> {
        let body = read(request, data, LIMIT_KIB * KIB).await?;
        idempotency::open(&body).await?;
        Ok(Self(body))
    }

    /// Reads a JSON object; an error is `invalid request` (400) with `errors`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        self.read().map_err(|wrong| Error::InvalidRequest.naming(wrong))
    }

    /// Reads a JSON object; an error is a list (422).
    pub fn validated<T: DeserializeOwned>(&self) -> Result<T> {
        self.read().map_err(Error::Validation)
    }

    /// Adds fields of the body that may be misspelt fields of a `T` to a refusal.
    pub fn hint<T: DeserializeOwned>(&self, refusal: Error) -> Error {
        refusal.naming(self.misspelt::<T>())
    }

    /// Reads the first value of each field of a form (`application/x-www-form-urlencoded`); other
    /// bodies have no fields.
    pub fn form(&self) -> HashMap<String, String> {
        let mut fields = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(&self.0).take(MOST_FORM_FIELDS) {
            fields.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        fields
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Vec<FieldError>> {
        if LIMIT_KIB > 64 && !json_shape::is_within(&self.0, MOST_JSON) {
            let Bounds { values, depth } = MOST_JSON;
            let msg = format!("may have at most {values} values, nested at most {depth} deep");
            return Err(vec![FieldError::new(&[BODY], msg, "value_error")]);
        }
        strict_json::read_object(&self.0).map_err(|error| self.explain::<T>(&error))
    }

    fn explain<T: DeserializeOwned>(&self, error: &serde_json::Error) -> Vec<FieldError> {
        if let Err(error) = strict_json::examine(&self.0) {
            return vec![shape::unreadable(BODY, &error)];
        }
        let first = match self.0.trim_ascii_start().starts_with(b"{") {
            true => shape::read_json::<T>(&self.0, BODY).err(),
            false => None,
        };
        let mut wrong = vec![first.unwrap_or_else(|| shape::unreadable(BODY, error))];
        wrong.extend(self.misspelt::<T>());
        wrong
    }

    fn misspelt<T: DeserializeOwned>(&self) -> Vec<FieldError> {
        let fields = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&self.0);
        let names = fields.unwrap_or_default().into_keys().take(MOST_FIELDS).collect::<Vec<_>>();
        shape::misspelt::<T>(&names, &[BODY])
    }
}
