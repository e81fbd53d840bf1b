use rocket::{Route, post, routes};

use super::suppressed::{WORD, suppressed_screen};
use crate::contacts::suppressions::import::ImportSuppressions;
use crate::error::{Error, Result};
use crate::web::console::kit::file_form::FileForm;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;

pub fn routes() -> Vec<Route> {
    routes![upload]
}

#[post("/console/account/suppressed/import", data = "<form>")]
async fn upload(member: Member<'_>, form: FileForm<'_>) -> Result<Reply, Refusal> {
    let call = member.call::<ImportSuppressions>().await;
    let taken = form.pass_to(call, WORD, |call, file| call.with(file)).await;
    match taken {
        Ok(opened) => {
            Ok(Reply::to(format!("/console/account/suppressed/imports/{}", opened.import_id)))
        }
        Err(
            error @ (Error::Validation(_) | Error::ImportAllowanceReached | Error::BodyTooLarge),
        ) => Ok(suppressed_screen(&member, error.status(), None, None, Some(&error)).await?),
        Err(error) => Err(error.into()),
    }
}
