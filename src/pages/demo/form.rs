//! What a person typed into the demo's form, and what is wrong with it.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::http::body::{Body, present};
use crate::pixels::SiteHost;
use crate::platform::Platform;

const MAX_NAME: usize = 200;

/// The form as it was sent.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct DemoForm {
    /// The site's host.
    #[schema(example = "shop.example")]
    pub domain: String,
    /// Who asks, at most 200 characters; the host when left out.
    #[schema(required = false, max_length = 200)]
    pub controller_name: String,
}

/// What a demo tag is made for.
pub struct DemoWish {
    pub host: SiteHost,
    /// Who asks.
    pub controller_name: String,
}

/// Why the form is shown again: a sentence beside one of its fields.
#[derive(Debug, Serialize)]
pub struct FormProblem {
    #[serde(skip)]
    pub status: u16,
    pub error: String,
    pub error_field: &'static str,
}

impl FormProblem {
    /// A refusal that concerns the host; anything else is no problem of the form's.
    pub fn about_domain(error: Error) -> Result<Self> {
        match error {
            Error::DomainRequired
            | Error::DomainIsPage
            | Error::DomainNotHost
            | Error::DomainRegistered => {
                Ok(Self { status: error.status(), error: error.to_string(), error_field: "domain" })
            }
            other => Err(other),
        }
    }

    fn about_name(sentence: &str) -> Self {
        Self { status: 400, error: sentence.to_owned(), error_field: "controller_name" }
    }
}

impl DemoForm {
    pub fn read<const LIMIT_KIB: usize>(body: &Body<LIMIT_KIB>) -> Self {
        let mut fields: HashMap<_, _> = body.form();
        let mut take = |name| fields.remove(name).unwrap_or_default();
        Self { domain: take("domain"), controller_name: take("controller_name") }
    }

    /// What is asked for, or the first thing wrong with it.
    pub fn check(&self, platform: &Platform) -> Result<DemoWish, FormProblem> {
        let host = self.host(platform).map_err(|error| FormProblem {
            status: error.status(),
            error: error.to_string(),
            error_field: "domain",
        })?;
        let controller_name = match present(Some(&self.controller_name)) {
            None => host.to_string(),
            Some(name) if name.chars().count() > MAX_NAME => {
                return Err(FormProblem::about_name("the name may have at most 200 characters"));
            }
            Some(name) if name.chars().any(char::is_control) => {
                return Err(FormProblem::about_name("the name must be one line of text"));
            }
            Some(name) => name.to_owned(),
        };
        Ok(DemoWish { host, controller_name })
    }

    fn host(&self, platform: &Platform) -> Result<SiteHost> {
        let domain = present(Some(&self.domain)).ok_or(Error::DomainRequired)?;
        SiteHost::parse(domain, &platform.base_host())
    }

    /// The form as it can be shown again: no control characters, and not longer than what the
    /// fields take.
    pub fn echo(&self) -> Self {
        let shown = |text: &str| {
            text.chars().filter(|character| !character.is_control()).take(253).collect()
        };
        Self { domain: shown(&self.domain), controller_name: shown(&self.controller_name) }
    }
}
