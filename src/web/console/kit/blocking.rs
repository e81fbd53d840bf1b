use crate::accounts::capability::NoInput;
use crate::contacts::reading::finding::OfContact;
use crate::contacts::suppressions::overview::ShowPerson;
use crate::contacts::suppressions::suppress::{OfPerson, SuppressPerson};
use crate::erasure::contact::EraseContact;
use crate::error::Result;
use crate::pixels::setup::ListPixels;
use crate::web::console::kit::member::Member;

/// Erases a person's contacts and choices on every site of the account, then suppresses the person. Choices can be
/// found only through contacts, so this order is necessary; a repeated call completes an interrupted one.
pub async fn block_person(member: &Member<'_>, hem: &str) -> Result<()> {
    let person = || OfPerson { hem: hem.into() };
    let hosts = member.ask::<ShowPerson>(person()).await?.hosts;
    for pixel in member.ask::<ListPixels>(NoInput {}).await?.pixels {
        if hosts.iter().any(|host| host == pixel.domain.as_str()) {
            let pixel_id = pixel.pixel_id.into();
            member.ask::<EraseContact>(OfContact { pixel_id, hem: hem.into() }).await?;
        }
    }
    member.ask::<SuppressPerson>(person()).await.map(drop)
}
