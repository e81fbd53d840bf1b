//! The description of a route's refusals: statuses, sentences and documents come from [`Error`] itself.
//! A guard declares its refusals once ([`Refuses`]); a route names its guards and its other refusals
//! ([`refusals!`]).

use std::collections::BTreeMap;

use rocket::http::Status;
use serde_json::json;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Ref, Type};
use utoipa::openapi::{Content, RefOr};

use super::body::Body;
use super::html::PROBLEM_JSON;
use super::problem::Document;
use crate::error::Error;
use crate::infra::Infra;
use crate::infra::templates::STAND_IN;

pub trait Refuses {
    fn refusals() -> Vec<Error>;
}

/// The database may be unavailable, and internal errors may occur.
impl Refuses for Infra {
    fn refusals() -> Vec<Error> {
        vec![Error::DatabaseUnavailable, Error::Internal(String::new())]
    }
}

impl<const LIMIT_KIB: usize> Refuses for Body<LIMIT_KIB> {
    fn refusals() -> Vec<Error> {
        vec![Error::BodyTooLarge, Error::BodyTimeout]
    }
}

/// Declares a type for the refusals in a route's description: those of the guards in brackets, and
/// either those of its capability or the given variants of [`Error`].
macro_rules! refusals {
    ($name:ident of $capability:ty: [$($guard:ty),* $(,)?]) => {
        refusals!(@ responses $name,
            <$capability as $crate::accounts::capability::Capability>::refusals(),
            $crate::accounts::capability::refusals_before::<$capability>(),
            [$($guard),*]
        );
    };
    ($name:ident: [$($guard:ty),* $(,)?] $($error:expr),* $(,)?) => {
        refusals!(@ responses $name: [$($guard),*] $($error),*);
    };
    ($name:ident or page: [$($guard:ty),* $(,)?] $($error:expr),* $(,)?) => {
        refusals!(@ responses_or_pages $name: [$($guard),*] $($error),*);
    };
    (@ $responses:ident $name:ident: [$($guard:ty),*] $($error:expr),*) => {
        refusals!(@ $responses $name,
            {
                #[allow(unused_imports, reason = "a route may have refusals of its guards only")]
                use $crate::error::Error::*;
                vec![$($error),*]
            },
            Vec::new(),
            [$($guard),*]
        );
    };
    (@ $responses:ident $name:ident, $own:expr, $before:expr, [$($guard:ty),*]) => {
        enum $name {}

        impl utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<
                String,
                utoipa::openapi::RefOr<utoipa::openapi::Response>,
            > {
                let own: Vec<$crate::error::Error> = $own;
                let before: Vec<$crate::error::Error> = $before;
                let guards: Vec<Vec<$crate::error::Error>> =
                    vec![$(<$guard as $crate::http::refusals::Refuses>::refusals()),*];
                let guards = guards.into_iter().flatten();
                let all = own.into_iter().chain(before).chain(guards).collect::<Vec<_>>();
                $crate::http::refusals::$responses(&all)
            }
        }
    };
}
pub(crate) use refusals;

/// One response per status, with all sentences of the status.
pub fn responses<'a>(
    errors: impl IntoIterator<Item = &'a Error>,
) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status = BTreeMap::<u16, Vec<&Error>>::new();
    for error in errors {
        let known = by_status.entry(error.status()).or_default();
        if known.iter().all(|other| other.to_string() != error.to_string()) {
            known.push(error);
        }
    }
    let described = |(status, errors): (u16, Vec<&Error>)| {
        (status.to_string(), RefOr::T(response(status, &errors)))
    };
    by_status.into_iter().map(described).collect()
}

pub fn responses_or_pages(errors: &[Error]) -> BTreeMap<String, RefOr<Response>> {
    let mut responses = responses(errors);
    for error in errors.iter().filter(|error| error.status() < 500) {
        if let Some(RefOr::T(response)) = responses.get_mut(&error.status().to_string()) {
            response.content.insert("text/html".to_owned(), page().into());
        }
    }
    responses
}

pub fn page() -> Content {
    Content::new(Some(ObjectBuilder::new().schema_type(Type::String)))
}

fn response(status: u16, errors: &[&Error]) -> Response {
    let sentences = errors.iter().map(|error| format!("`{error}`")).collect::<Vec<_>>();
    let content = ContentBuilder::new()
        .schema(Some(schema(errors)))
        .examples_from_iter(errors.iter().map(|error| {
            let document = json!(Document::new(error, STAND_IN, "0123456789abcdefghij"));
            let name =
                error.to_string().replace(|character: char| !character.is_alphanumeric(), "_");
            (name, ExampleBuilder::new().value(Some(document)).build())
        }))
        .build();
    let response = ResponseBuilder::new()
        .description(format!("{}: {}", Status::new(status).reason_lossy(), sentences.join(", ")))
        .content(PROBLEM_JSON, content);
    if status == 401 {
        return response.header("WWW-Authenticate", challenge()).build();
    }
    match errors.iter().all(|error| error.retry_after().is_some()) {
        true => response.header("Retry-After", retry_after()).build(),
        false => response.build(),
    }
}

/// The schema of a status. Its sentences are only examples, so that generated clients have one type for
/// all refusals with a sentence.
fn schema(errors: &[&Error]) -> Ref {
    let is_list = |error: &&Error| matches!(error, Error::Validation(_));
    Ref::from_schema_name(match errors.iter().all(is_list) {
        true => "ValidationProblem",
        false => "Problem",
    })
}

fn challenge() -> utoipa::openapi::Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .description(Some(
            "The credential that is asked for; `error` when the one sent does not do.",
        ))
        .build()
}

fn retry_after() -> utoipa::openapi::Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1))))
        .description(Some("Seconds after which the same call may succeed."))
        .build()
}
