use url::Url;

use crate::page_analysis::page::element::{Element, ElementContext, Name};
use crate::types::ids::{PixelId, PixelRef};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// Asks the visitor first.
    Consent,
    /// Identifies without asking.
    Immediate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionIssue {
    /// It runs later, or at the visitor's first interaction.
    Delayed(&'static Optimiser),
    /// It does not run unless another program turns it into a script.
    Disabled(DisabledReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    Noscript,
    Template,
    /// Its type is not a script type, or it waits for an event that never happens.
    Type,
    /// It is only for browsers without module support.
    OldBrowsers,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Optimiser {
    pub name: &'static str,
    pub cure: &'static str,
}

#[derive(Debug)]
pub struct Tag<'a> {
    pub script: &'a Element,
    pub address: Url,
    pub kind: TagKind,
    pub name: String,
    pub issue: Option<ExecutionIssue>,
}

impl Tag<'_> {
    pub fn is_of(&self, pixel_id: &PixelId, aliases: &[PixelRef]) -> bool {
        self.name == pixel_id.as_str() || aliases.iter().any(|alias| alias.as_str() == self.name)
    }

    pub fn is_alive(&self) -> bool {
        !matches!(self.issue, Some(ExecutionIssue::Disabled(_)))
    }
}

/// All scripts of the page whose path is that of a tag, on any server, in document order. `base`
/// resolves their relative addresses.
pub fn tags<'a>(elements: &'a [Element], base: &Url) -> Vec<Tag<'a>> {
    let scripts = elements.iter().filter(|element| element.name == Name::Script);
    scripts.filter(|script| !script.is_foreign).filter_map(|script| tag(script, base)).collect()
}

fn tag<'a>(script: &'a Element, base: &Url) -> Option<Tag<'a>> {
    let (attribute, address, kind, name) = script.attributes().find_map(|(attribute, value)| {
        let (address, kind, name) = address_of(script, attribute, value, base)?;
        Some((attribute, address, kind, name))
    })?;
    let issue = execution_issue(script, attribute);
    Some(Tag { script, address, kind, name, issue })
}

fn address_of(
    script: &Element,
    attribute: &str,
    value: &str,
    base: &Url,
) -> Option<(Url, TagKind, String)> {
    let is_source = attribute == "src" || attribute.ends_with("-src");
    if !is_source || !value.contains("/p") {
        return None;
    }
    let address = base.join(value.trim()).ok()?;
    let (kind, name) = named(script, address.path())?;
    Some((address, kind, name))
}

fn named(script: &Element, path: &str) -> Option<(TagKind, String)> {
    let parts = path.split('/').skip(1).collect::<Vec<_>>();
    let (kind, name) = match parts[..] {
        [.., "px", file] => (TagKind::Consent, file.strip_suffix(".js")?),
        [.., "pixels", name, "p.js"] => (TagKind::Immediate, name),
        [.., "pixel.js"] => (TagKind::Immediate, script.get("data-pixel")?),
        _ => return None,
    };
    Some((kind, name.to_owned()))
}

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
            cure: "Exclude this tag in the tool that speeds up the site: no delay, no combining with other scripts.",
        },
    ),
];

/// Considers the script's location, the attribute that holds the address, and its type.
fn execution_issue(script: &Element, attribute: &str) -> Option<ExecutionIssue> {
    match script.context {
        ElementContext::Noscript => {
            return Some(ExecutionIssue::Disabled(DisabledReason::Noscript));
        }
        ElementContext::Template => {
            return Some(ExecutionIssue::Disabled(DisabledReason::Template));
        }
        ElementContext::Document => {}
    }
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
        Some((_, optimiser)) => Some(ExecutionIssue::Delayed(optimiser)),
        // The type is executable, so a program delays the script by keeping its address out of `src`.
        None if script.is_run() => {
            Some(ExecutionIssue::Delayed(&OPTIMISERS[OPTIMISERS.len() - 1].1))
        }
        None if kind.contains("delay") || kind.contains("lazy") => {
            Some(ExecutionIssue::Delayed(&OPTIMISERS[OPTIMISERS.len() - 1].1))
        }
        None if script.is_for_old_browsers() => {
            Some(ExecutionIssue::Disabled(DisabledReason::OldBrowsers))
        }
        None => Some(ExecutionIssue::Disabled(DisabledReason::Type)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_analysis::page::document::Document;

    fn of(page: &str) -> Vec<(TagKind, String, Option<ExecutionIssue>)> {
        let document = Document::read(page, true);
        let tags = tags(&document.elements, &Url::parse("https://shop.example/").unwrap());
        tags.into_iter().map(|tag| (tag.kind, tag.name, tag.issue)).collect()
    }

    #[test]
    fn tags_are_known_by_their_address() {
        use TagKind::*;
        for (page, kind, name) in [
            ("<script src=https://assent.example/px/abcDEF123.js>", Consent, "abcDEF123"),
            ("<script src='//proxy.shop.example/a/px/shop.js?v=1'>", Consent, "shop"),
            ("<script src=/pixels/shop/p.js>", Immediate, "shop"),
            (
                "<script src=https://assent.example/pixel.js data-pixel=abcDEF123>",
                Immediate,
                "abcDEF123",
            ),
        ] {
            assert_eq!(of(page), [(kind, name.to_owned(), None)], "{page}");
        }
        for page in [
            "<script src=https://assent.example/pixel.js>",
            "<script src=https://assent.example/preferences.js>",
            "<script>'https://assent.example/px/abcDEF123.js'</script>",
            "<script data-src-of=/px/abcDEF123.js>",
            "<script src=https://[/px/abcDEF123.js>",
            "<svg><script src=/px/abcDEF123.js></script></svg>",
        ] {
            assert!(of(page).is_empty(), "{page}");
        }
    }

    #[test]
    fn what_delays_or_disables_a_tag_is_named() {
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
            let found = of(&format!("<script {page}={tag}>")).remove(0).2;
            let Some(ExecutionIssue::Delayed(optimiser)) = found else {
                panic!("{page}: {found:?}")
            };
            assert_eq!(optimiser.name, name, "{page}");
        }
        for (page, reason) in [
            ("<script type=text/plain src=TAG>", DisabledReason::Type),
            ("<script type=text/template src=TAG>", DisabledReason::Type),
            ("<script for=window event=onclick src=TAG>", DisabledReason::Type),
            ("<script nomodule src=TAG>", DisabledReason::OldBrowsers),
            ("<template><script src=TAG></script></template>", DisabledReason::Template),
            ("<noscript><script src=TAG></script></noscript>", DisabledReason::Noscript),
        ] {
            assert_eq!(
                of(&page.replace("TAG", tag))[0].2,
                Some(ExecutionIssue::Disabled(reason)),
                "{page}"
            );
        }
    }
}
