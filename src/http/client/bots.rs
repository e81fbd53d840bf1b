/// Parts of the names of bots, lowercase. Nearly all names contain one of the first three.
const NAMES: [&str; 13] = [
    "bot",
    "crawl",
    "spider",
    "facebookexternalhit",
    "feedfetcher",
    "google-inspectiontool",
    "headlesschrome",
    "lighthouse",
    "mediapartners-google",
    "pagespeed",
    "pingdom",
    "prerender",
    "slurp",
];
/// A manufacturer of telephones whose name contains `bot`.
const TELEPHONES: &str = "cubot";

pub fn is_bot(user_agent: &str) -> bool {
    let agent = user_agent.to_ascii_lowercase().replace(TELEPHONES, "");
    NAMES.iter().any(|name| agent.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_are_distinguished_from_people() {
        for (agent, expected) in [
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", true),
            ("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/)", true),
            ("Mozilla/5.0 (compatible; Baiduspider/2.0)", true),
            ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", true),
            ("Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", true),
            ("facebookexternalhit/1.1", true),
            ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/126.0.0.0 Safari/537.36", true),
            ("Mozilla/5.0 (Linux; Android 11) Chrome/126.0.0.0 Mobile Chrome-Lighthouse", true),
            ("Mozilla/5.0 (Linux; Android 9; CUBOT_X19) Chrome/126.0.0.0 Mobile", false),
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36", false),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari", false),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", false),
            ("", false),
        ] {
            assert_eq!(is_bot(agent), expected, "{agent}");
        }
    }
}
