//! Findings about the content of a page, and the remedies.

use crate::infra::templates::{Message, tr};

pub static TEXTS: [Message; 34] = [
    tr("The snippet was not found on the page."),
    tr(
        "Paste the snippet before </head>, save and publish. Caches may serve the old page for some minutes.",
    ),
    tr("The snippet is inside a comment, so browsers ignore it."),
    tr("Remove the <!-- before the snippet and the --> after it."),
    tr("The pixel id is on the page, but no script that loads the tag."),
    tr("Paste the whole snippet as HTML: into a field for code, not into one for text."),
    tr("The snippet on the page is not the one of this site: its id is unknown here."),
    tr("Replace it with the snippet of this site. A snippet works on its own host only."),
    tr("The page has this site's snippet and another one: its id is unknown here."),
    tr("Remove the other one, so that visitors are asked once."),
    tr("The snippet is on the page more than once."),
    tr("Keep one of them. A theme and a plugin may both have added it."),
    tr("Something on the site has changed the snippet, so that it runs late or not at all."),
    tr("The snippet is inside <noscript>, where browsers do not run it."),
    tr("The snippet is inside <template>, where browsers do not run it."),
    tr("The snippet has a script type that browsers do not run."),
    tr("The snippet has the attribute nomodule, so that only very old browsers run it."),
    tr(
        "Paste the snippet unchanged, before </head>. It must not wait for consent, because it asks for it.",
    ),
    tr(
        "The page has the snippet of the popup and the one that identifies visitors without asking.",
    ),
    tr("Remove the other snippet: the one with pixel.js or p.js in it."),
    tr("The snippet on the page identifies visitors without asking them."),
    tr("Replace it with the snippet of the popup."),
    tr("The snippet of the popup is on the page, but the popup is off, so nothing happens."),
    tr("Set up the popup, or replace the snippet with the current one."),
    tr("Keep one of the two: visitors who are asked twice may give two different answers."),
    tr(
        "The site's Content-Security-Policy allows only scripts with its nonce, and the snippet has none.",
    ),
    tr("Add the nonce attribute that the site's other scripts have to the snippet."),
    tr("The site's Content-Security-Policy blocks the tag."),
    tr("The site's Content-Security-Policy blocks scripts that the tag loads after consent."),
    tr("The site's Content-Security-Policy blocks the requests with which the tag sends choices."),
    tr(
        "Let it load what needs consent only after consent, and do not add the snippet there as well.",
    ),
    tr(
        "If the snippet is in there, visit the page: if the popup appears, it works. It should fire on every page, before all other tags. It is better to add the snippet to the page itself.",
    ),
    tr("Add /px/ to its list of excluded scripts, and clear its cache."),
    tr(
        "Let them wait for consent: type=\"text/plain\" and data-assent=\"analytics\", or another purpose, on their <script>.",
    ),
];

/// Texts with a placeholder.
pub static PATTERNS: [Message; 11] = [
    tr("The snippet on the page is not the one of this site: its id is {{ id }}."),
    tr("The page has this site's snippet and another one: its id is {{ id }}."),
    tr("{{ name }} has changed the snippet, so that it runs late or not at all."),
    tr("Another tool also asks visitors for consent: {{ names }}."),
    tr("Add {{ address }} to script-src of the policy."),
    tr("Add {{ address }} to connect-src of the policy."),
    tr("{{ names }} is on the page. This check cannot see what it loads."),
    tr("{{ names }} is on the page and may load the tag, which this check cannot see."),
    tr("{{ names }} combines the scripts of the page into one file, which may contain the tag."),
    tr("The page loads {{ names }} before visitors are asked."),
    tr("The server answered with status {{ status }} instead of the page."),
];
