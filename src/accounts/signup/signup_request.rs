use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::{Error, Result, wrong_field};
use crate::types::email::Email;
use crate::types::text::present;

/// The maximum length in characters.
pub const MAX_DISPLAY_NAME: usize = 200;
const MAX_EXTERNAL_USER_ID: usize = 200;
const MAX_REFERRAL_CODE: usize = 64;

/// Who signs up.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct SignupRequest {
    /// Where the confirmation is mailed to. Stored lowercased; one account per address.
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "ann@shop.example")]
    pub email: Option<String>,
    /// What the account is called, 1 to 200 characters.
    #[schemars(with = "String")]
    #[schema(value_type = String, pattern = "\\S", max_length = 200, example = "Ann Lee")]
    pub display_name: Option<String>,
    /// The account's id in the integrator's own system, at most 200 characters, unique when sent.
    #[schema(max_length = 200)]
    pub external_user_id: Option<String>,
    /// A referral code, at most 64 characters.
    #[schema(max_length = 64)]
    pub code: Option<String>,
}

pub struct Signup {
    pub email: Email,
    pub display_name: String,
    pub external_user_id: Option<String>,
    pub referral_code: Option<String>,
}

impl SignupRequest {
    pub fn check(self) -> Result<Signup> {
        let email = Email::parse(present(self.email.as_deref()).ok_or(Error::InvalidEmail)?)?;
        let display_name =
            present(self.display_name.as_deref()).ok_or(Error::DisplayNameRequired)?;
        let external_user_id = present(self.external_user_id.as_deref());
        let referral_code = present(self.code.as_deref());
        within("display_name", Some(display_name), MAX_DISPLAY_NAME)?;
        within("external_user_id", external_user_id, MAX_EXTERNAL_USER_ID)?;
        within("code", referral_code, MAX_REFERRAL_CODE)?;
        Ok(Signup {
            email,
            display_name: display_name.to_owned(),
            external_user_id: external_user_id.map(str::to_owned),
            referral_code: referral_code.map(str::to_owned),
        })
    }
}

pub fn within(field: &str, text: Option<&str>, most: usize) -> Result<()> {
    match text.is_some_and(|text| text.chars().count() > most) {
        true => Err(wrong_field(field, format!("must have at most {most} characters"))),
        false => Ok(()),
    }
}
