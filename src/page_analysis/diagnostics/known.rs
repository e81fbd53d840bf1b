//! Scripts of third parties that are recognised by their addresses.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::RegexSet;

/// A product name, and parts of addresses that identify the product: from the host on, or a path.
type Known = (&'static str, &'static [&'static str]);

/// Other tools that ask visitors for consent.
pub static CONSENT_TOOLS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of(&[
        ("OneTrust", &["cookielaw.org/", "onetrust.com/", "optanon.blob.core.windows.net/"]),
        ("Cookiebot", &["cookiebot.com/", "cookiebot.eu/"]),
        ("Usercentrics", &["usercentrics.eu/", "usercentrics.com/"]),
        ("Didomi", &["privacy-center.org/", "didomi.io/"]),
        (
            "Quantcast Choice",
            &["quantcast.mgr.consensu.org/", "cmp.quantcast.com/", "inmobi.com/choice/"],
        ),
        ("TrustArc", &["consent.trustarc.com/", "consent.truste.com/"]),
        ("iubenda", &["iubenda.com/"]),
        ("Klaro", &["kiprotect.com/klaro/", "/klaro.js", "/klaro-no-css.js", "/klaro@"]),
        ("Osano", &["cmp.osano.com/"]),
        ("Termly", &["app.termly.io/"]),
        ("CookieYes", &["cdn-cookieyes.com/", "cookieyes.com/", "/plugins/cookie-law-info/"]),
        ("Complianz", &["/plugins/complianz-gdpr"]),
        ("Borlabs Cookie", &["/plugins/borlabs-cookie"]),
        ("Real Cookie Banner", &["/plugins/real-cookie-banner"]),
        ("Axeptio", &["axept.io/", "axeptio.eu/"]),
        ("Sourcepoint", &["sp-prod.net/", "privacy-mgmt.com/"]),
        ("consentmanager", &["consentmanager.net/", "consensu.org/delivery/"]),
        ("CookieFirst", &["cookiefirst.com/"]),
        ("Cookie Script", &["cookie-script.com/"]),
        ("CookieHub", &["cookiehub.net/", "cookiehub.eu/"]),
        ("Cookie Information", &["cookieinformation.com/"]),
        ("Commanders Act TrustCommander", &["cdn.trustcommander.net/"]),
        ("Ketch", &["ketchcdn.com/", "global.ketchjs.com/"]),
        ("Transcend", &["transcend-cdn.com/"]),
        ("Enzuzo", &["app.enzuzo.com/"]),
        ("tarteaucitron", &["/tarteaucitron.js", "/tarteaucitron.min.js", "tarteaucitron.io/"]),
        (
            "Cookie Consent",
            &["/cookieconsent.min.js", "/cookieconsent.umd.js", "/cookieconsent.js"],
        ),
    ])
});

/// Scripts that track visitors, or store data on their devices.
pub static TRACKERS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of(&[
        ("Meta Pixel", &["connect.facebook.net/"]),
        ("TikTok Pixel", &["analytics.tiktok.com/"]),
        ("LinkedIn Insight Tag", &["snap.licdn.com/"]),
        ("Hotjar", &["hotjar.com/"]),
        ("Microsoft Clarity", &["clarity.ms/"]),
        ("Microsoft Advertising", &["bat.bing.com/"]),
        ("Segment", &["cdn.segment.com/", "cdn.segment.io/"]),
        ("HubSpot", &["js.hs-scripts.com/", "js.hs-analytics.net/", "js-eu1.hs-scripts.com/"]),
        ("Pinterest Tag", &["s.pinimg.com/ct/"]),
        ("X Pixel", &["static.ads-twitter.com/", "platform.twitter.com/"]),
        ("Snap Pixel", &["sc-static.net/scevent"]),
        ("Reddit Pixel", &["redditstatic.com/ads/"]),
        ("Criteo", &["criteo.net/", "criteo.com/"]),
        ("Taboola", &["taboola.com/"]),
        ("Outbrain", &["outbrain.com/"]),
        ("AdRoll", &["adroll.com/"]),
        ("Amazon Ads", &["amazon-adsystem.com/"]),
        ("Amplitude", &["amplitude.com/"]),
        ("Mixpanel", &["cdn.mxpnl.com/", "mixpanel.com/"]),
        ("FullStory", &["fullstory.com/"]),
        ("Mouseflow", &["mouseflow.com/"]),
        ("Crazy Egg", &["crazyegg.com/"]),
        ("Lucky Orange", &["luckyorange.com/", "luckyorange.net/"]),
        ("Heap", &["heapanalytics.com/"]),
        ("Intercom", &["widget.intercom.io/", "js.intercomcdn.com/"]),
        ("Klaviyo", &["klaviyo.com/"]),
        ("Yandex Metrica", &["mc.yandex.ru/", "mc.yandex.com/"]),
        ("VWO", &["visualwebsiteoptimizer.com/"]),
        ("Optimizely", &["cdn.optimizely.com/"]),
        ("Quantcast Measure", &["quantserve.com/"]),
        ("Salesforce Pardot", &["pi.pardot.com/"]),
        ("Marketo", &["munchkin.marketo.net/"]),
    ])
});

/// Like [`TRACKERS`], but these wait for consent themselves if Consent Mode is set before they load.
pub static GOOGLE: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of(&[
        ("Google Analytics", &["google-analytics.com/", "googletagmanager.com/gtag/"]),
        ("Google Ads", &["googleadservices.com/", "googlesyndication.com/", "doubleclick.net/"]),
    ])
});

/// Tag managers: the page does not show which scripts they load.
pub static TAG_MANAGERS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of(&[
        ("Google Tag Manager", &["googletagmanager.com/gtm.js"]),
        ("Tealium", &["tiqcdn.com/", "tiqcdn.eu/"]),
        ("Adobe Tags", &["adobedtm.com/"]),
        ("Commanders Act", &["cdn.tagcommander.com/"]),
        ("Matomo Tag Manager", &["matomo.cloud/container_", "/matomo/js/container_"]),
        ("Piwik PRO", &["containers.piwik.pro/", "piwik.pro/containers/"]),
    ])
});

/// Optimisers that combine the scripts of a page into a file of their own.
pub static OPTIMISERS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of(&[
        ("Autoptimize", &["/cache/autoptimize/"]),
        ("LiteSpeed Cache", &["/litespeed/js/"]),
        ("WP Rocket", &["/cache/min/"]),
        ("NitroPack", &["nitrocdn.com/", "/nitropack_static/"]),
        ("WP Fastest Cache", &["/cache/wpfc-minified/"]),
        ("SiteGround Optimizer", &["/siteground-optimizer-assets/"]),
        ("W3 Total Cache", &["/cache/minify/"]),
        ("Fast Velocity Minify", &["/cache/fvm/"]),
    ])
});

/// Texts in the scripts of the pages that bot protections show instead of the site.
pub static CHALLENGES: LazyLock<Marks> = LazyLock::new(|| {
    Marks::literally(&[
        ("Cloudflare", &["_cf_chl_opt"]),
        ("Sucuri", &["sucuri_cloudproxy_js"]),
        ("AWS WAF", &["gokuProps"]),
        ("DDoS-Guard", &["/.well-known/ddos-guard/js-challenge"]),
        ("DataDome", &["//ct.captcha-delivery.com/", "//geo.captcha-delivery.com/"]),
    ])
});

pub struct Marks {
    known: &'static [Known],
    set: RegexSet,
    owners: Vec<usize>,
}

impl Marks {
    fn of(known: &'static [Known]) -> Self {
        Self::by(known, pattern)
    }

    fn literally(known: &'static [Known]) -> Self {
        Self::by(known, |mark| format!("(?-u){}", regex::escape(mark)))
    }

    fn by(known: &'static [Known], pattern: fn(&str) -> String) -> Self {
        let all = known.iter().enumerate();
        let marks = all.flat_map(|(at, (_, marks))| marks.iter().map(move |mark| (at, mark)));
        let (owners, patterns): (Vec<_>, Vec<_>) =
            marks.map(|(at, mark)| (at, pattern(mark))).unzip();
        Self { known, set: RegexSet::new(patterns).expect("marks are literals"), owners }
    }

    pub fn names_in(&self, text: &[u8]) -> Vec<&'static str> {
        let found = self.set.matches(text).into_iter().map(|mark| self.owners[mark]);
        found.collect::<BTreeSet<_>>().into_iter().map(|at| self.known[at].0).collect()
    }
}

/// A host is matched only after `/` or `.`, so that it does not match within a longer name.
fn pattern(mark: &str) -> String {
    let before = if mark.starts_with('/') { "" } else { "[/.]" };
    format!("(?i-u){before}{}", regex::escape(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_by_host_and_folder_and_not_by_a_name_alone() {
        let names = |marks: &Marks, text: &str| marks.names_in(text.as_bytes());
        for (text, found) in [
            ("https://cdn.cookielaw.org/scripttemplates/otSDKStub.js", vec!["OneTrust"]),
            ("//CONSENT.cookiebot.com/uc.js", vec!["Cookiebot"]),
            ("/wp-content/plugins/complianz-gdpr-premium/a.js", vec!["Complianz"]),
            ("https://shop.example/js/klaro.js", vec!["Klaro"]),
            ("https://notcookiebot.com/uc.js", vec![]),
            ("cookiebot.com", vec![]),
        ] {
            assert_eq!(names(&CONSENT_TOOLS, text), found, "{text}");
        }
        let inline = "s.src='https://static.hotjar.com/c/hotjar-1.js'; \
                      t='https://connect.facebook.net/en_US/fbevents.js'; 'https://hotjar.com/'";
        assert_eq!(names(&TRACKERS, inline), ["Meta Pixel", "Hotjar"]);
        let gtm = "https://www.googletagmanager.com/gtm.js?id=GTM-1";
        assert_eq!(names(&TAG_MANAGERS, gtm), ["Google Tag Manager"]);
        assert!(names(&GOOGLE, gtm).is_empty());
    }

    #[test]
    fn nobody_is_named_twice() {
        for marks in [&CONSENT_TOOLS, &TRACKERS, &GOOGLE, &TAG_MANAGERS, &OPTIMISERS] {
            let names = marks.known.iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
            assert_eq!(names.len(), marks.known.len());
        }
    }
}
