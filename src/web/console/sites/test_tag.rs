use serde::Serialize;

use crate::error::Result;
use crate::pixels::input::OfPixel;
use crate::receipts::receipt::Receipt;
use crate::receipts::test_choices::ReadTestChoices;
use crate::web::console::kit::member::Member;
use crate::web::console::kit::words::second;
use crate::web::console::visitors::choice_words::{purposes_of, state_name};

#[derive(Serialize)]
pub struct TestChoice {
    state: &'static str,
    name: &'static str,
    purposes: Vec<String>,
    at: String,
    origin: String,
}

impl TestChoice {
    fn of(receipt: &Receipt) -> Self {
        Self {
            state: receipt.consent_state.as_str(),
            name: state_name(receipt.consent_state),
            purposes: purposes_of(&receipt.purposes),
            at: second(receipt.recorded_at),
            origin: receipt.origin.clone(),
        }
    }
}

/// The latest choices under the test id of the member's pixel.
pub async fn latest(member: &Member<'_>, pixel_id: &str) -> Result<Vec<TestChoice>> {
    let input = OfPixel { pixel_id: pixel_id.to_owned() };
    let choices = member.ask::<ReadTestChoices>(input).await?;
    Ok(choices.receipts.iter().map(TestChoice::of).collect())
}
