use rocket::Request;
use rocket::http::CookieJar;
use rocket::request::{FromRequest, Outcome};
use serde::Serialize;

use super::paused::Paused;
use super::reply::Reply;
use super::screen::{Frame, OfSite, Screen};
use super::{cookies, form};
use crate::accounts::access::Credentials;
use crate::accounts::capability::{self, Capability};
use crate::accounts::members::member;
use crate::accounts::preferences::Preferences;
use crate::accounts::sessions;
use crate::accounts::sign_in::renewal::renew;
use crate::app::App;
use crate::erasure::owner::{ListErasureRequests, PageRequest};
use crate::error::{Error, Result};
use crate::http::call::Call;
use crate::http::html::reader::{Reader, kept_language};
use crate::http::limited::net_of;
use crate::http::problem;
use crate::pixels::input::OfPixel;
use crate::pixels::other_sites::ListOtherSites;
use crate::pixels::pixel::DayZone;
use crate::pixels::time_zone::ShowTimeZone;
use crate::types::ids::PixelParam;
use crate::web::layout::page;

const MOST_COUNTED: &str = "99";

/// The open erasure requests of a site.
#[derive(Serialize)]
pub struct OpenRequests {
    /// The number, followed by `+` if there are more than are counted.
    pub count: String,
    pub overdue: usize,
}

/// A signed-in member. As the first guard of a route, it redirects requests without a session to the sign-in.
pub struct Member<'r> {
    pub app: &'r App,
    pub jar: &'r CookieJar<'r>,
    pub member: member::Member,
    credentials: Credentials,
    form_token: String,
    of_site: OfSite,
    /// `Some` while the identification of new visitors is paused.
    pub paused: Option<Paused>,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Member<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request).await)
    }
}

impl<'r> Member<'r> {
    async fn of(request: &'r Request<'_>) -> Result<Self> {
        let app = request.rocket().state::<App>();
        let app = app.ok_or_else(|| Error::internal("no app is managed"))?;
        let jar = request.cookies();
        let secret = cookies::session(app.infra.base_url(), jar).ok_or(Error::SignInRequired)?;
        let member = sessions::find(&app.infra.pool, &app.infra.clock, &secret)
            .await?
            .ok_or(Error::SignInRequired)?;
        prefer(request, app, member.preferences);
        let credentials = credentials(request, Some(&member));
        let form_token = form::masked_token(&secret);
        let paused = Paused::of(app, &member).await?;
        let of_site = OfSite::default();
        let mut member = Self { app, jar, member, credentials, form_token, of_site, paused };
        if let Some(pixel_id) = site_of(request) {
            let others = member.ask::<ListOtherSites>(pixel_id.clone());
            let (open, others) = tokio::join!(member.open_requests(&pixel_id), others);
            // Errors are ignored here, because they also fail the screen, which shows them.
            let open_requests = open.unwrap_or(None).map(|open| open.count);
            member.of_site = OfSite { open_requests, others: others.unwrap_or_default() };
        }
        Ok(member)
    }

    /// Whether the last sign-in is recent enough for keys, members, exports and other accounts.
    pub fn is_fresh(&self) -> bool {
        self.member.is_fresh(self.app.infra.clock.now())
    }

    pub async fn open_requests(&self, pixel_id: &PixelParam) -> Result<Option<OpenRequests>> {
        let request = PageRequest {
            pixel_id: pixel_id.clone(),
            status: Some("open".to_owned()),
            after: None,
            limit: Some(MOST_COUNTED.to_owned()),
        };
        let page = self.ask::<ListErasureRequests>(request).await?;
        let (count, more) = (page.requests.len(), if page.next_after.is_some() { "+" } else { "" });
        let now = self.app.infra.clock.now();
        let overdue = page.requests.iter().filter(|request| request.due_at.0 < now).count();
        Ok((count > 0).then(|| OpenRequests { count: format!("{count}{more}"), overdue }))
    }

    /// The time zone in which the statistics of a site count days.
    pub async fn day_zone(&self, pixel_id: &PixelParam) -> Result<DayZone> {
        self.ask::<ShowTimeZone>(OfPixel { pixel_id: pixel_id.clone() }).await
    }

    pub async fn ask<C: Capability>(&self, input: C::Input) -> Result<C::Output>
    where
        App: AsRef<C::Service>,
    {
        ask::<C>(self.app, self.credentials.clone(), input).await
    }

    /// The member's credentials, for responses that are streamed after the handler has returned.
    pub fn owned_caller(&self) -> OwnedCaller {
        OwnedCaller { app: self.app.clone(), credentials: self.credentials.clone() }
    }

    pub async fn call<C: Capability>(&self) -> Result<Call<'r, C>> {
        Call::of(self.app, self.credentials.clone()).await
    }

    /// Makes the sign-in recent with a code. The browser gets the session's new secret.
    pub async fn confirm(&mut self, code: &str) -> Result<()> {
        let app = self.app;
        let infra = &app.infra;
        let session = renew(infra, &self.member, code).await?;
        let member = sessions::find(&infra.pool, &infra.clock, session.expose())
            .await?
            .ok_or(Error::SignInRequired)?;
        cookies::replace_secret(&infra.clock, infra.base_url(), self.jar, &session);
        self.form_token = form::masked_token(session.expose());
        self.credentials.member = Some(Box::new(member.clone()));
        self.member = member;
        Ok(())
    }

    pub fn screen(&self, screen: Screen<'_>, content: impl Serialize) -> Reply {
        self.screen_with_status(200, screen, content)
    }

    pub fn screen_with_status(
        &self,
        status: u16,
        screen: Screen<'_>,
        content: impl Serialize,
    ) -> Reply {
        let (template, title) = (screen.template, screen.title.clone());
        let (of_site, paused) = (&self.of_site, self.paused.as_ref());
        let frame = Frame::of(&self.member, &self.form_token, of_site, paused, &screen, content);
        Reply::page(status, page(self.app.infra.base_url(), template, title, frame))
    }
}

pub struct OwnedCaller {
    app: App,
    credentials: Credentials,
}

impl OwnedCaller {
    pub async fn ask<C: Capability>(&self, input: C::Input) -> Result<C::Output>
    where
        App: AsRef<C::Service>,
    {
        ask::<C>(&self.app, self.credentials.clone(), input).await
    }
}

fn site_of(request: &Request<'_>) -> Option<PixelParam> {
    let path = request.uri().path().as_str().strip_prefix("/console/sites/")?;
    path.split_once('/').map(|(pixel_id, _)| pixel_id.into())
}

pub struct Visitor<'r> {
    pub app: &'r App,
    pub jar: &'r CookieJar<'r>,
    credentials: Credentials,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Visitor<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let app = request.rocket().state::<App>();
        let app = app.ok_or_else(|| Error::internal("no app is managed"));
        let credentials = credentials(request, None);
        let visitor = app.map(|app| Self { app, jar: request.cookies(), credentials });
        problem::outcome(request, visitor)
    }
}

impl Visitor<'_> {
    pub async fn ask<C: Capability>(&self, input: C::Input) -> Result<C::Output>
    where
        App: AsRef<C::Service>,
    {
        ask::<C>(self.app, self.credentials.clone(), input).await
    }

    pub async fn ask_with_key<C: Capability>(
        &self,
        api_key: String,
        input: C::Input,
    ) -> Result<C::Output>
    where
        App: AsRef<C::Service>,
    {
        let credentials = Credentials { api_key: Some(api_key), ..self.credentials.clone() };
        ask::<C>(self.app, credentials, input).await
    }

    pub async fn is_signed_in(&self) -> Result<bool> {
        match cookies::session(self.app.infra.base_url(), self.jar) {
            Some(secret) => {
                Ok(sessions::find(&self.app.infra.pool, &self.app.infra.clock, &secret)
                    .await?
                    .is_some())
            }
            None => Ok(false),
        }
    }

    pub fn page(
        &self,
        status: u16,
        template: &'static str,
        title: impl Serialize,
        content: impl Serialize,
    ) -> Reply {
        Reply::page(status, page(self.app.infra.base_url(), template, title, content))
    }
}

/// Makes the pages use the person's language and time zone. A cookie also stores the language, for pages without a
/// sign-in.
fn prefer(request: &Request<'_>, app: &App, preferences: Preferences) {
    Reader::prefer(request, preferences);
    let kept = kept_language(request).map(|language| language.tag);
    if let Some(language) = preferences.language.filter(|stored| kept != Some(stored.tag)) {
        cookies::keep_language(app.infra.base_url(), request.cookies(), language);
    }
}

/// Only the session counts, whatever other credentials the request has.
fn credentials(request: &Request<'_>, member: Option<&member::Member>) -> Credentials {
    Credentials {
        api_key: None,
        signup_token: None,
        member: member.cloned().map(Box::new),
        grant: None,
        authorization_sent: false,
        net: net_of(request),
    }
}

async fn ask<C: Capability>(
    app: &App,
    credentials: Credentials,
    input: C::Input,
) -> Result<C::Output>
where
    App: AsRef<C::Service>,
{
    let caller = capability::admit::<C>(&app.accounts, credentials).await?;
    C::run(app.as_ref(), caller, input).await
}
