//! Ids in the path of a request.

use std::convert::Infallible;

use rocket::request::FromParam;

use crate::types::ids::PixelParam;

impl<'r> FromParam<'r> for PixelParam {
    type Error = Infallible;

    fn from_param(text: &'r str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}
