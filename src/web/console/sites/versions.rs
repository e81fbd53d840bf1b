//! The history of a popup: the versions of its notice, their differences, and changes of its appearance.

use chrono::Days;
use rocket::{Route, get, routes};
use rocket_dyn_templates::context;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::acceptance::{Before, Rate};
use super::install::find;
use super::notice_diff::{Kind, Passage, count, passages};
use super::popup::fields::Fields;
use super::popup::review::{changes_between, summary};
use super::popup::{configuration, screen};
use crate::error::{Error, Result};
use crate::http::html::Reader;
use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::policies::history::{PolicyVersionView, find_policy};
use crate::policies::notice::plain_text;
use crate::policies::policy::Policy;
use crate::policies::popup_changes::{self, PopupChange};
use crate::receipts::daily_counts::series::VersionSeries;
use crate::receipts::daily_counts::stats::{ReadSiteStats, StatsRequest};
use crate::types::ids::{PixelId, PixelParam};
use crate::types::locales::{self, Locale};
use crate::web::console::kit::member::Member;
use crate::web::console::kit::refusal::Refusal;
use crate::web::console::kit::reply::Reply;

pub fn routes() -> Vec<Route> {
    routes![versions, compare]
}

const MOST_CHANGES: usize = 20;

struct Answered(Vec<VersionSeries>);

impl Answered {
    async fn read(member: &Member<'_>, pixel_id: &PixelParam) -> Result<Self> {
        let today = member.day_zone(pixel_id).await?.day_of(member.app.infra.clock.now());
        let request = StatsRequest {
            pixel_id: pixel_id.clone(),
            from: Some((today - Days::new(364)).to_string()),
            to: None,
        };
        Ok(Self(member.ask::<ReadSiteStats>(request).await?.stats.by_version))
    }

    fn rate(&self, version: &PolicyVersionView) -> Rate {
        let found = self.0.iter().find(|line| line.policy_hash == version.policy_hash);
        found.map(|line| Rate::from(line.totals)).unwrap_or_default()
    }
}

#[get("/console/sites/<pixel_id>/popup/versions")]
async fn versions(member: Member<'_>, pixel_id: PixelParam) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let now = configuration(&member, &pixel_id).await?;
    let answered = Answered::read(&member, &pixel_id).await?;
    let changes = popup_changes::read(&member.app.infra.pool, &pixel.pixel_id).await?;
    let row = |version: &PolicyVersionView| {
        let rate = answered.rate(version);
        json!({
            "number": version.policy_version,
            "published": Message::Moment(version.published_at.0),
            "hash": version.policy_hash,
            "href": version.policy_url,
            "name": version.controller_name,
            "rate": rate.text(),
            "interval": rate.interval(),
            "responses": rate.count(),
            "number_of_responses": Message::Number(rate.count()),
        })
    };
    let content = context! {
        rows: now.versions.iter().map(row).collect::<Vec<_>>(),
        changes: changes.iter().filter_map(change_row).take(MOST_CHANGES).collect::<Vec<_>>(),
    };
    let screen = screen(&pixel, "console/versions.html", tr("Notice history"));
    Ok(member.screen(screen, content))
}

/// A change of appearance or settings; `None` if no field that this version of the service knows has changed.
fn change_row(change: &PopupChange) -> Option<Value> {
    let [before, after] = change.settings()?;
    let fields = changes_between(&Fields::of_settings(&before), &Fields::of_settings(&after));
    (!fields.is_empty()).then(|| {
        json!({
            "when": Message::Moment(change.changed_at.0),
            "version": change.policy_version,
            "summary": summary(&fields),
            "fields": fields,
        })
    })
}

/// The differences between a version and the version `with`, or the previous one without `with`.
#[get("/console/sites/<pixel_id>/popup/versions/<number>")]
async fn compare(
    member: Member<'_>,
    pixel_id: PixelParam,
    number: &str,
    query: Query,
    reader: Reader,
) -> Result<Reply, Refusal> {
    let pixel = find(&member, &pixel_id).await?;
    let now = configuration(&member, &pixel_id).await?;
    let index_of = |text: &str| {
        now.versions.iter().position(|version| version.policy_version.to_string() == text)
    };
    let at = index_of(number).ok_or(Error::NotFound)?;
    let with =
        query.present("with").and_then(index_of).filter(|with| *with != at).unwrap_or(at + 1);
    let (after, before) = (&now.versions[at.min(with)], now.versions.get(at.max(with)));
    let asked = query.present("language").unwrap_or(reader.language.tag);
    let language = locales::named(asked).unwrap_or_else(locales::english);
    let infra = &member.app.infra;
    let text = marked(&infra.pool, &pixel.pixel_id, [before, Some(after)], language).await?;
    let answered = Answered::read(&member, &pixel_id).await?;
    let rate = answered.rate(after);
    let former = before.map(|version| {
        let former = Before::Version(version.policy_version);
        json!({
            "number": version.policy_version,
            "published": Message::Moment(version.published_at.0),
            "difference": rate.difference(answered.rate(version), &former),
            "fields": changes_between(&Fields::of(version, &now), &Fields::of(after, &now)),
        })
    });
    let is_between = |change: &&PopupChange| {
        let at = change.changed_at.0;
        at <= after.published_at.0 && before.is_some_and(|it| at > it.published_at.0)
    };
    let changes = popup_changes::read(&infra.pool, &pixel.pixel_id).await?;
    let between = changes.iter().filter(is_between).filter_map(change_row).take(MOST_CHANGES);
    let content = context! {
        number: after.policy_version,
        published: Message::Moment(after.published_at.0),
        rate: rate.text(),
        responses: rate.count(),
        number_of_responses: Message::Number(rate.count()),
        confidence: rate.confidence(),
        before: former,
        others: now.versions.iter().map(|it| it.policy_version).collect::<Vec<_>>(),
        changes: between.collect::<Vec<_>>(),
        removed: count(&text, Kind::Removed),
        added: count(&text, Kind::Added),
        passages: text,
        language: &language.lang,
        dir: &language.dir,
        languages: locales::all().map(|it| (&it.lang, &it.name)).collect::<Vec<_>>(),
    };
    let title = tr("Version {{ version }} of the notice").with("version", after.policy_version);
    let screen = screen(&pixel, "console/compare.html", title);
    Ok(member.screen(screen, content))
}

async fn marked(
    pool: &PgPool,
    pixel_id: &PixelId,
    versions: [Option<&PolicyVersionView>; 2],
    language: &Locale,
) -> Result<Vec<Passage>> {
    let mut found = Vec::new();
    for version in versions.into_iter().flatten() {
        let policy = find_policy(pool, pixel_id, version.policy_version).await?;
        found.push(policy.ok_or(Error::NotFound)?);
    }
    let after = found.pop().ok_or(Error::NotFound)?;
    let text = plain_text(&after, language);
    let before = found.pop().map(|before| {
        // Number, date and hash differ between all versions, so they are not compared.
        let Policy { version, hash, published_at, .. } = after;
        plain_text(&Policy { version, hash, published_at, ..before }, language)
    });
    Ok(passages(before.as_deref().unwrap_or(&text), &text))
}
