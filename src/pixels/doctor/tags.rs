//! The tags of this service among the scripts of a page.

use url::Url;

use super::markup::Element;
use crate::types::ids::{PixelId, PixelRef};

/// What a script of ours does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// Asks the visitor first.
    Consent,
    /// Identifies without asking.
    Immediate,
}

/// What keeps a tag from running when the browser comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brake {
    /// It runs later, or at the first movement of the visitor.
    Optimiser(&'static Optimiser),
    /// It does not run unless something else makes a script of it.
    Held,
}

/// A program that rewrites the scripts of pages.
#[derive(Debug, PartialEq, Eq)]
pub struct Optimiser {
    pub name: &'static str,
    pub cure: &'static str,
}

/// A script of this service in a page.
#[derive(Debug)]
pub struct Tag<'a> {
    pub script: &'a Element<'a>,
    pub address: Url,
    pub kind: TagKind,
    /// The pixel's own, by its id or an alias.
    pub is_own: bool,
    /// As the page has it.
    pub name: String,
    pub brake: Option<Brake>,
}

/// Whose tags are looked for.
pub struct Owner<'a> {
    pub pixel_id: &'a PixelId,
    pub aliases: &'a [PixelRef],
    /// The public base address of this service.
    pub base: &'a Url,
}

/// All tags of the service in the page, in its order.
pub fn tags<'a>(scripts: &'a [Element<'a>], page: &Url, owner: &Owner<'_>) -> Vec<Tag<'a>> {
    scripts.iter().filter_map(|script| tag(script, page, owner)).collect()
}

fn tag<'a>(script: &'a Element<'a>, page: &Url, owner: &Owner<'_>) -> Option<Tag<'a>> {
    let (attribute, address, kind, name) = script.attributes().find_map(|(attribute, value)| {
        let (address, kind, name) = address_of(script, attribute, value, page)?;
        Some((attribute, address, kind, name))
    })?;
    let is_own =
        name == owner.pixel_id.as_str() || owner.aliases.iter().any(|alias| alias.as_str() == name);
    // What another service has at such an address is not ours to judge.
    let is_ours = is_own || address.origin() == owner.base.origin();
    let brake = brake(script, attribute);
    is_ours.then_some(Tag { script, address, kind, is_own, name, brake })
}

/// The address that an attribute loads or keeps for later, if it is that of a tag.
fn address_of(
    script: &Element<'_>,
    attribute: &str,
    value: &str,
    page: &Url,
) -> Option<(Url, TagKind, String)> {
    let is_source = attribute == "src" || attribute.ends_with("-src");
    if !is_source || !value.contains("/p") {
        return None;
    }
    let address = page.join(value.trim()).ok()?;
    let parts = address.path().split('/').skip(1).collect::<Vec<_>>();
    let (kind, name) = match parts[..] {
        [.., "px", file] => (TagKind::Consent, file.strip_suffix(".js")?),
        [.., "pixels", name, "p.js"] => (TagKind::Immediate, name),
        [.., "pixel.js"] => (TagKind::Immediate, script.get("data-pixel")?),
        _ => return None,
    };
    let name = name.to_owned();
    Some((address, kind, name))
}

/// Programs that are known by the type or an attribute that they give to scripts.
static OPTIMISERS: [(&str, Optimiser); 9] = [
    (
        "-text/javascript",
        Optimiser {
            name: "Rocket Loader of Cloudflare",
            cure: "Add data-cfasync=\"false\" to the tag, before src, or turn off Rocket Loader for the site.",
        },
    ),
    (
        "rocketlazyloadscript",
        Optimiser {
            name: "WP Rocket",
            cure: "Put /px/ into WP Rocket's list of scripts that are not delayed (File Optimization, Delay JavaScript execution).",
        },
    ),
    (
        "litespeed/javascript",
        Optimiser {
            name: "LiteSpeed Cache",
            cure: "Put /px/ into LiteSpeed Cache's lists of scripts that are neither deferred nor delayed (Page Optimization, Tuning), or add data-no-optimize=\"1\" and data-no-defer=\"1\" to the tag.",
        },
    ),
    (
        "nitropack",
        Optimiser {
            name: "NitroPack",
            cure: "Add nitro-exclude to the tag, or put /px/ into NitroPack's list of excluded resources.",
        },
    ),
    (
        "pmdelayedscript",
        Optimiser {
            name: "Perfmatters",
            cure: "Put /px/ into Perfmatters' list of scripts that are not delayed (Assets, JavaScript).",
        },
    ),
    (
        "wphb-delay-type",
        Optimiser {
            name: "Hummingbird",
            cure: "Put /px/ into Hummingbird's list of scripts that are not delayed (Asset Optimization, Extra Optimization).",
        },
    ),
    (
        "text/psajs",
        Optimiser { name: "PageSpeed", cure: "Add data-pagespeed-no-defer to the tag." },
    ),
    (
        "lazy",
        Optimiser {
            name: "Flying Scripts",
            cure: "Take /px/ out of the keywords of Flying Scripts.",
        },
    ),
    (
        "",
        Optimiser {
            name: "Something on the site",
            cure: "Tell whatever makes the site faster to leave this tag alone: no delay, no joining with other scripts.",
        },
    ),
];

/// By the attribute that holds the address, and the script's type.
fn brake(script: &Element<'_>, attribute: &str) -> Option<Brake> {
    if script.is_run() && attribute == "src" {
        return None;
    }
    let types = [script.get("type"), script.get("data-type")];
    let types = types.map(|kind| kind.unwrap_or_default().trim().to_ascii_lowercase());
    let known = OPTIMISERS.iter().find(|(mark, _)| {
        !mark.is_empty() && types.iter().any(|kind| kind.starts_with(mark) || kind.ends_with(mark))
    });
    let [kind, _] = types;
    match known {
        Some((_, optimiser)) => Some(Brake::Optimiser(optimiser)),
        // The type is a script's, so somebody keeps the address away for a while.
        None if script.is_run() => Some(Brake::Optimiser(&OPTIMISERS[OPTIMISERS.len() - 1].1)),
        None if kind.contains("delay") || kind.contains("lazy") => {
            Some(Brake::Optimiser(&OPTIMISERS[OPTIMISERS.len() - 1].1))
        }
        None => Some(Brake::Held),
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::elements;
    use super::*;

    fn of(page: &str) -> Vec<(TagKind, bool, String, Option<Brake>)> {
        let id = PixelId::from("abcDEF123".to_owned());
        let aliases = [PixelRef::from("shop".to_owned())];
        let base = Url::parse("https://assent.example/").unwrap();
        let owner = Owner { pixel_id: &id, aliases: &aliases, base: &base };
        let found = elements(page.as_bytes());
        let tags = tags(&found, &Url::parse("https://shop.example/").unwrap(), &owner);
        tags.into_iter().map(|tag| (tag.kind, tag.is_own, tag.name, tag.brake)).collect()
    }

    #[test]
    fn tags_are_known_by_their_address() {
        use TagKind::*;
        for (page, kind, own, name) in [
            ("<script src=https://assent.example/px/abcDEF123.js>", Consent, true, "abcDEF123"),
            ("<script src='//proxy.shop.example/a/px/shop.js?v=1'>", Consent, true, "shop"),
            ("<script src=/pixels/shop/p.js>", Immediate, true, "shop"),
            (
                "<script src=https://assent.example/pixel.js data-pixel=abcDEF123>",
                Immediate,
                true,
                "abcDEF123",
            ),
            ("<script src=https://assent.example/px/Other.js>", Consent, false, "Other"),
        ] {
            assert_eq!(of(page), [(kind, own, name.to_owned(), None)], "{page}");
        }
        for page in [
            "<script src=https://other.example/px/Other.js>",
            "<script src=https://other.example/pixel.js data-pixel=Other>",
            "<script src=https://assent.example/pixel.js>",
            "<script src=https://assent.example/preferences.js>",
            "<script>'https://assent.example/px/abcDEF123.js'</script>",
            "<script data-src-of=/px/abcDEF123.js>",
            "<script src=https://[/px/abcDEF123.js>",
        ] {
            assert!(of(page).is_empty(), "{page}");
        }
    }

    #[test]
    fn what_holds_a_tag_up_is_named() {
        let tag = "/px/abcDEF123.js";
        for (page, name) in [
            ("type=\"4f2a-text/javascript\" src", "Rocket Loader of Cloudflare"),
            ("type=rocketlazyloadscript data-rocket-src", "WP Rocket"),
            ("type=rocketlazyloadscript src", "WP Rocket"),
            ("type=litespeed/javascript data-src", "LiteSpeed Cache"),
            ("type=nitropack/inlinescript src", "NitroPack"),
            ("type=pmdelayedscript src", "Perfmatters"),
            ("type=text/psajs src", "PageSpeed"),
            ("data-type=lazy data-src", "Flying Scripts"),
            ("type=wphb-delay-type src", "Hummingbird"),
            ("data-any-src", "Something on the site"),
            ("type=delayed src", "Something on the site"),
        ] {
            let found = of(&format!("<script {page}={tag}>")).remove(0).3;
            let Some(Brake::Optimiser(optimiser)) = found else { panic!("{page}: {found:?}") };
            assert_eq!(optimiser.name, name, "{page}");
        }
        for page in ["type=text/plain", "type=text/template"] {
            assert_eq!(of(&format!("<script {page} src={tag}>"))[0].3, Some(Brake::Held), "{page}");
        }
    }
}
