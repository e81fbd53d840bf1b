//! The tags of this service that a browser loads and runs. They are the only content of a page that counts as evidence
//! of who owns the site. Text never counts, because visitors can write it on many pages. Tags that do not run as they
//! are (because of their type, a template or a policy of the site) and tags from other servers do not count either.

use url::Url;

use super::permission::Governed;
use super::tags::{Tag, TagKind, tags};
use crate::page_analysis::page::document::Document;
use crate::page_analysis::page::element::base_of;
use crate::page_analysis::page::{Body, SitePage};
use crate::types::ids::{PixelId, PixelRef};

#[derive(Debug, Default)]
pub struct LiveTags(Vec<String>);

impl LiveTags {
    /// `base` is the public base address of this service, `network` that of its tag network.
    pub fn of(page: &SitePage, base: &str, network: &str) -> Self {
        let Body::Read { document, is_html: true, .. } = &page.body else { return Self::default() };
        let parse = |address: &str| Url::parse(address).ok();
        let (Some(base), network) = (parse(base), parse(network)) else { return Self::default() };
        let tags = tags(&document.elements, &base_of(&document.elements, &page.address));
        let policies = governed(page, document).read_policies();
        let is_live = |tag: &Tag<'_>| {
            is_run(tag)
                && (comes_from(tag, &base)
                    || network.as_ref().is_some_and(|network| comes_from(tag, network)))
                && policies.allow(tag)
        };
        Self(tags.into_iter().filter(is_live).map(|tag| tag.name).collect())
    }

    pub fn has(&self, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
        self.0.iter().any(|name| {
            name == pixel_id.as_str() || aliases.iter().any(|alias| alias.as_str() == name)
        })
    }
}

pub fn governed<'a>(page: &'a SitePage, document: &'a Document) -> Governed<'a> {
    Governed { address: &page.address, sent: &page.policies, elements: &document.elements }
}

fn is_run(tag: &Tag<'_>) -> bool {
    tag.issue.is_none() && !tag.script.is_unfinished
}

fn comes_from(tag: &Tag<'_>, base: &Url) -> bool {
    let folder = base.path().trim_end_matches('/');
    let is_path = |path: String| tag.address.path() == format!("{folder}/{path}");
    let is_path = match tag.kind {
        TagKind::Consent => is_path(format!("px/{}.js", tag.name)),
        TagKind::Immediate => {
            is_path(format!("pixels/{}/p.js", tag.name))
                || (is_path("pixel.js".to_owned())
                    && tag.script.get("data-pixel") == Some(tag.name.as_str()))
        }
    };
    let is_bare = tag.address.username().is_empty() && tag.address.password().is_none();
    is_path && is_bare && tag.address.origin() == base.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "<script async src=\"https://assent.example/px/abcDEF123.js\"></script>";

    fn live(page: &str, policies: &[&str]) -> LiveTags {
        let mut page = SitePage::of_text(page);
        page.policies = policies.iter().map(|&policy| policy.to_owned()).collect();
        LiveTags::of(&page, "https://assent.example", "https://tags.example/t")
    }

    fn is_live(page: &str) -> bool {
        let id = PixelId::from("abcDEF123".to_owned());
        live(page, &[]).has(&id, &[PixelRef::from("shop".to_owned())])
    }

    #[test]
    fn a_tag_that_runs_is_live() {
        for page in [
            TAG,
            "<head><SCRIPT\nasync SRC = 'https://assent.example/px/abcDEF123.js?v=1'></SCRIPT >",
            "<script src=//assent.example/px/abcDEF123.js></script>",
            "<script src='https://assent.example/px/shop.js'></script>",
            "<script src=https://assent.example/pixel.js data-pixel=abcDEF123></script>",
            "<script src=https://assent.example/pixels/shop/p.js data-pixel=x></script>",
            "<script src=https://tags.example/t/pixels/shop/p.js></script>",
            "<base href=https://assent.example/a/><script src=../px/shop.js></script>",
            "<script type=module src=https://assent.example/px/shop.js></script>",
            "<script type=Text/JavaScript src=https://assent.example/px/shop.js></script>",
            "<script language=javascript src=https://assent.example/px/shop.js></script>",
            "<script src=https:&#x2F;/assent.example/px/abcDEF123.js></script>",
        ] {
            assert!(is_live(page), "{page}");
        }
        for around in [
            "<p>a < b & c {}",
            "<!-- a --> {}",
            "<body><table><tr><td>{}</td></table>",
            "<svg><foreignObject>{}</foreignObject></svg>",
            "<svg><p></svg>{}",
            "<select><option>{}</option></select>",
            "<title>a</title><textarea></textarea>{}",
            "<script>'<!--'</script>{}",
            "<math><mtext>{}</mtext></math>",
            "<template></template><noscript></noscript>{}",
        ] {
            let page = around.replace("{}", TAG);
            assert!(is_live(&page), "{page}");
        }
    }

    #[test]
    fn a_tag_inside_another_element_is_not_live() {
        for around in [
            "<!-- {} -->",
            "<!-- > {} -->",
            "<!--[if IE]>{}<![endif]-->",
            "<!--{}",
            "<? {} ?>{",
            "<svg><![CDATA[ {} ]]></svg>",
            "<textarea>{}</textarea>",
            "<title>{}</title>",
            "<style>/* {} */</style>",
            "<xmp>{}</xmp>",
            "<iframe>{}</iframe>",
            "<noembed>{}</noembed>",
            "<noframes>{}</noframes>",
            "<plaintext>{}",
            "<noscript>{}</noscript>",
            "<head><noscript>{}</noscript>",
            "<template>{}</template>",
            "<template><template></template>{}</template>",
            "<template shadowrootmode=open>{}</template>",
            "<div><template><p><b></p>{}</b></template></div>",
            "<script>var review = '{}';",
            "<script>var data = {\"text\": \"<!-- <script> {}\"}</script>",
            "<script type=application/json>{\"text\": \"{}",
            "<a title='{}'>a</a>",
            "<img alt='{}'>",
            "<iframe srcdoc='{}'></iframe>",
            "<svg><style><a title='</style>{}'></style></svg>",
            "<svg><script>{}</svg>",
            "<svg><title><style>{}</style></title></svg>",
            "<math><annotation-xml encoding=text/html><textarea>{}</textarea></math>",
            "<frameset><frame></frameset>{}",
            "<script src=https://other.example/a.js data-text='{}'></script>",
        ] {
            let page = around.replace("{}", TAG);
            assert!(!is_live(&page), "{page}");
        }
    }

    #[test]
    fn a_script_that_browsers_do_not_run_is_not_live() {
        for script in [
            "<script src=https://assent.example/px/abcDEF123.js>",
            "<script src=https://assent.example/px/abcDEF123.js x",
            "<script src=https://assent.example/px/abcDEF123.js></scrip>",
            "<script type=text/plain src=https://assent.example/px/abcDEF123.js></script>",
            "<script type='text/javascript; charset=utf-8' src=https://assent.example/px/abcDEF123.js></script>",
            "<script type=importmap src=https://assent.example/px/abcDEF123.js></script>",
            "<script nomodule src=https://assent.example/px/abcDEF123.js></script>",
            "<script language=vbscript src=https://assent.example/px/abcDEF123.js></script>",
            "<script for=a event=b src=https://assent.example/px/abcDEF123.js></script>",
            "<script data-src=https://assent.example/px/abcDEF123.js></script>",
            "<script type=rocketlazyloadscript src=https://assent.example/px/abcDEF123.js></script>",
            "<svg><script src=https://assent.example/px/abcDEF123.js></script></svg>",
            "<svg><script href=https://assent.example/px/abcDEF123.js></script></svg>",
            "<scripture src=https://assent.example/px/abcDEF123.js></scripture>",
            "<link rel=preload as=script href=https://assent.example/px/abcDEF123.js>",
            "<img src=https://assent.example/px/abcDEF123.js>",
        ] {
            assert!(!is_live(script), "{script}");
        }
    }

    #[test]
    fn an_address_that_differs_from_the_tags_is_no_evidence() {
        for address in [
            "https://assent.example/px/abcDEF1234.js",
            "https://assent.example/px/abcdef123.js",
            "https://assent.example/px/abcDEF123.js/x",
            "https://assent.example/a/px/abcDEF123.js",
            "https://assent.example/px/abcDEF123%2Ejs",
            "https://assent.example/pixel.js#abcDEF123",
            "https://assent.example/pixel.js?data-pixel=abcDEF123",
            "https://assent.example:8443/px/abcDEF123.js",
            "http://assent.example/px/abcDEF123.js",
            "https://user@assent.example/px/abcDEF123.js",
            "https://assent.example.other.example/px/abcDEF123.js",
            "https://other.example/?https://assent.example/px/abcDEF123.js",
            "https://tags.example/pixels/abcDEF123/p.js",
            "/px/abcDEF123.js",
            "px/abcDEF123.js",
            "data:text/javascript,//assent.example/px/abcDEF123.js",
        ] {
            let page = format!("<script src='{address}' x='px/abcDEF123.js'></script>");
            assert!(!is_live(&page), "{page}");
        }
        let other = "<script src=https://assent.example/pixel.js data-pixel=other \
                     data-for=abcDEF123></script>";
        assert!(!is_live(other));
    }

    #[test]
    fn a_tag_that_the_sites_policy_blocks_is_not_live() {
        let id = PixelId::from("abcDEF123".to_owned());
        for (policy, lets) in [
            ("script-src 'self'", false),
            ("script-src 'nonce-a' 'strict-dynamic'", false),
            ("default-src https:", true),
            ("img-src 'self'", true),
        ] {
            assert_eq!(live(TAG, &[policy]).has(&id, &[]), lets, "{policy}");
            let meta = format!("<meta http-equiv=Content-Security-Policy content=\"{policy}\">");
            assert_eq!(live(&format!("{meta}{TAG}"), &[]).has(&id, &[]), lets, "{policy}");
        }
    }

    #[test]
    fn a_truncated_page_is_evaluated_by_its_received_part() {
        for end in 0..TAG.len() {
            assert!(!is_live(&TAG[..end]), "{end}");
        }
    }
}
