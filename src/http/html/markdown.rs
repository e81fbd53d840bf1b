//! Our own pages as Markdown, for clients that ask for `text/markdown`. The crate `htmd` builds a tree with
//! `markup5ever_rcdom`, which its authors do not support, and `html2md` has the licence GPL-3.0.

use std::cell::RefCell;
use std::io::Cursor;

use futures_util::FutureExt;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use rocket::{Request, Response};

use super::reader::wants_markdown;
use crate::app::App;
use crate::infra::templates::with_index;

/// Elements without text for a reader of Markdown.
const SILENT: [&str; 7] = ["script", "style", "svg", "template", "form", "button", "nav"];

/// A page that is the same for everybody, as HTML or as Markdown. `source` is the Markdown from which the page was
/// made, if any.
pub fn negotiated<'r>(
    request: &Request<'_>,
    mut page: Response<'r>,
    source: Option<String>,
) -> Response<'r> {
    page.adjoin_raw_header("Vary", "Accept");
    if !wants_markdown(request) {
        return page;
    }
    let base_url = request.rocket().state::<App>().map_or("", |app| app.infra.base_url());
    // The body is in memory, so reading it completes at once.
    let mut html = || page.body_mut().to_string().now_or_never()?.ok();
    let made = |html: String| with_index(&markdown_of(&html, base_url), base_url);
    let text = source.or_else(|| html().map(made));
    let Some(text) = text else { return page };
    page.set_raw_header("Content-Type", "text/markdown; charset=utf-8");
    page.set_sized_body(text.len(), Cursor::new(text));
    page
}

/// The main part of a page. Relative links begin with the service's address.
pub fn markdown_of(html: &str, base_url: &str) -> String {
    let tokenizer = Tokenizer::new(Writer::new(base_url), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().finished()
}

struct Writer(RefCell<State>);

#[derive(Default)]
struct State {
    base_url: String,
    out: String,
    is_main: bool,
    /// The open element that is left out, and the depth of elements of the same name in it.
    silent: Option<(String, usize)>,
    is_pre: bool,
    is_code: bool,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<usize>>,
    /// Whether no text was written since the marker of a list item.
    is_item_start: bool,
    links: Vec<String>,
    /// The number of cells in the row, and whether the row is the first of its table.
    cells: usize,
    is_first_row: bool,
}

impl Writer {
    fn new(base_url: &str) -> Self {
        Self(RefCell::new(State { base_url: base_url.to_owned(), ..State::default() }))
    }
}

impl TokenSink for Writer {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => state.tag(&tag),
            Token::CharacterTokens(text) => state.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn tag(&mut self, tag: &Tag) {
        let (name, is_start) = (&*tag.name, tag.kind == TagKind::StartTag);
        if name == "main" {
            self.is_main = is_start;
        }
        if !self.is_main || self.skip(name, is_start) {
            return;
        }
        match (name, is_start) {
            ("h1" | "h2" | "h3" | "h4", true) => {
                let level = name[1..].parse().unwrap_or(2);
                self.block(2);
                self.out.push_str(&format!("{} ", "#".repeat(level)));
            }
            ("pre", true) => {
                self.block(2);
                self.out.push_str("```\n");
                self.is_pre = true;
            }
            ("pre", false) => {
                self.is_pre = false;
                self.block(1);
                self.out.push_str("```");
                self.block(2);
            }
            ("ul", true) => self.lists.push(None),
            ("ol", true) => self.lists.push(Some(1)),
            ("ul" | "ol", false) => {
                self.lists.pop();
                self.block(2);
            }
            ("li", true) => self.item(),
            ("a", true) => {
                let href = tag.attrs.iter().find(|attribute| &*attribute.name.local == "href");
                let href = href.map(|href| self.absolute(&href.value)).unwrap_or_default();
                self.links.push(href);
                self.out.push('[');
            }
            ("a", false) => {
                if let Some(href) = self.links.pop() {
                    self.out.push_str(&format!("]({href})"));
                }
            }
            ("code" | "kbd", _) if !self.is_pre => {
                self.is_code = is_start;
                self.out.push('`');
            }
            ("strong" | "b", _) => self.out.push_str("**"),
            ("br", _) => self.block(1),
            ("table", true) => {
                self.block(2);
                self.is_first_row = true;
            }
            ("tr", true) => self.cells = 0,
            ("th" | "td", true) => {
                self.out.push_str(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            ("tr", false) => self.end_row(),
            ("dd", true) => self.out.push_str(": "),
            ("dt" | "summary", true) | ("summary", false) => self.block(2),
            (
                "p" | "div" | "section" | "caption" | "article" | "details" | "table" | "dl" | "h1"
                | "h2" | "h3" | "h4",
                _,
            ) => self.block(if self.lists.is_empty() { 2 } else { 1 }),
            _ => {}
        }
    }

    /// Whether an element is left out, alone or as a part of another element.
    fn skip(&mut self, name: &str, is_start: bool) -> bool {
        match &mut self.silent {
            Some((open, depth)) => {
                if open == name {
                    *depth = if is_start { *depth + 1 } else { *depth - 1 };
                    if *depth == 0 {
                        self.silent = None;
                    }
                }
                true
            }
            None if is_start && SILENT.contains(&name) => {
                self.silent = Some((name.to_owned(), 1));
                true
            }
            None => false,
        }
    }

    fn item(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        self.is_item_start = false;
        self.block(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}.", *number - 1)
            }
            _ => "-".to_owned(),
        };
        self.out.push_str(&format!("{indent}{mark} "));
        self.is_item_start = true;
    }

    fn end_row(&mut self) {
        self.out.push_str(" |");
        if self.is_first_row {
            self.out.push_str(&format!("\n|{}", " --- |".repeat(self.cells)));
            self.is_first_row = false;
        }
        self.block(1);
    }

    fn absolute(&self, href: &str) -> String {
        let base = if href.starts_with('/') { self.base_url.as_str() } else { "" };
        format!("{base}{href}")
    }

    /// Ends a block, so that at least this number of line breaks follows it.
    fn block(&mut self, breaks: usize) {
        if self.is_item_start {
            return;
        }
        let written = self.out.trim_end().len();
        if written == 0 {
            self.out.clear();
            return;
        }
        let present = self.out[written..].matches('\n').count();
        self.out.truncate(written);
        self.out.push_str(&"\n".repeat(breaks.max(present)));
    }

    fn text(&mut self, text: &str) {
        if !self.is_main || self.silent.is_some() {
            return;
        }
        self.is_item_start &= text.trim().is_empty();
        if self.is_pre {
            self.out.push_str(text);
            return;
        }
        let is_open = self.out.ends_with(|last: char| last.is_whitespace() || last == '[');
        let words = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let starts = text.starts_with(|first: char| first.is_ascii_whitespace());
        if starts && !is_open && !self.out.is_empty() {
            self.out.push(' ');
        }
        // In running text, `<` starts an element in Markdown.
        let words = if self.is_code { words } else { words.replace('<', "\\<") };
        self.out.push_str(&words);
        if !words.is_empty() && text.ends_with(|last: char| last.is_ascii_whitespace()) {
            self.out.push(' ');
        }
    }

    fn finished(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        self.out.push('\n');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::markdown_of;

    #[test]
    fn the_main_part_of_a_page_becomes_markdown() {
        let page = "<header>Menu</header><main><h1>A &amp; B</h1>\n<p>See <a href=\"/x\">the \
            <code>&lt;x></code></a> before &lt;y>.</p><script>no()</script><ul><li>one</li><li><p>two</p></li></ul>\
            <pre>a\n  b</pre><table><caption>c</caption><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr>\
            </table><ol><li>first</li><li>second</li></ol></main><footer>Foot</footer>";
        let wanted = "# A & B\n\nSee [the `<x>`](https://a.example/x) before \\<y>.\n\n- one\n- two\n\n\
            ```\na\n  b\n```\n\nc\n\n| k | v |\n| --- | --- |\n| 1 | 2 |\n\n1. first\n2. second\n";
        assert_eq!(markdown_of(page, "https://a.example"), wanted);
    }
}
