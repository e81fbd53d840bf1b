//! Findings about responses of servers and about tools that delay the tag, and the remedies.

use crate::infra::templates::{Message, tr};

pub static TEXTS: [Message; 37] = [
    tr("The site redirects to another address."),
    tr(
        "Add a site for the host to which it redirects, and put its snippet there. On the same host, with or without www, one redirect to https is fine; a page that refreshes to another one needs the snippet as well.",
    ),
    tr("The name of the site leads to no public address."),
    tr("Check the spelling of the name, and that the site opens in a browser with https."),
    tr("The name of the site leads to an address that is not public."),
    tr(
        "Try again when the site is open to the public. Sites in a private network cannot be checked.",
    ),
    tr("No server answers at this address."),
    tr("Check that the site is up, and open to everyone on port 443 (https)."),
    tr("The page took too long to load."),
    tr("Try again. If it happens again, find out why the page takes longer than five seconds."),
    tr("The page is longer than 1 MiB, and the snippet is not in the first part of it."),
    tr("Put the snippet into the head, where the page begins."),
    tr("The answer broke off."),
    tr("Try again in a few minutes."),
    tr("The page was not fetched, because too many checks were running."),
    tr(
        "Let the server send the complete home page with status 200 when a request has no conditions.",
    ),
    tr("Let everyone read the home page without a password, and do not block programs."),
    tr("Try again when the page opens in a browser."),
    tr("Check that the site opens in a browser with https. Try again in a few minutes."),
    tr("The page could not be decompressed."),
    tr(
        "Let the server send the page uncompressed when the request asks for that (Accept-Encoding: identity), or with gzip, deflate or br.",
    ),
    tr("The answer is not an HTML page."),
    tr("Let the server send the home page with Content-Type: text/html."),
    tr("The answer could not be decoded as text."),
    tr(
        "Let the server declare the encoding: Content-Type: text/html; charset=utf-8, and Content-Encoding if the page is compressed.",
    ),
    tr("A bot protection answered instead of the site."),
    tr(
        "Let this service read the front page: it asks from the address of this service, as “Assent install check”. Visitors with a browser may see the page all the same.",
    ),
    tr("The elements of the page are nested too deeply to read it completely."),
    tr(
        "Add data-cfasync=\"false\" to the tag, before src, or turn off Rocket Loader for the site.",
    ),
    tr(
        "Put /px/ into WP Rocket's list of scripts that are not delayed (File Optimization, Delay JavaScript execution).",
    ),
    tr(
        "Put /px/ into LiteSpeed Cache's lists of scripts that are neither deferred nor delayed (Page Optimization, Tuning), or add data-no-optimize=\"1\" and data-no-defer=\"1\" to the tag.",
    ),
    tr("Add nitro-exclude to the tag, or put /px/ into NitroPack's list of excluded resources."),
    tr("Put /px/ into Perfmatters' list of scripts that are not delayed (Assets, JavaScript)."),
    tr(
        "Put /px/ into Hummingbird's list of scripts that are not delayed (Asset Optimization, Extra Optimization).",
    ),
    tr("Add data-pagespeed-no-defer to the tag."),
    tr("Take /px/ out of the keywords of Flying Scripts."),
    tr(
        "Exclude this tag in the tool that speeds up the site: no delay, no combining with other scripts.",
    ),
];
