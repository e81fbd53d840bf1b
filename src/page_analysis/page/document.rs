//! The HTML parser for fetched pages. It is the only one in the service: install checks, proofs of claims
//! and findings are all derived from its result.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{TokenizerResult, local_name};

use super::element::{Element, ElementContext};
use super::tree::{Handle, Tree};
use super::words::unescaped;

/// Bytes parsed between two checks of the limits.
const STEP: usize = 4 << 10;
/// Maximum nesting depth; browsers use the same.
const DEEPEST: usize = 512;
/// Time limit for one page. A page of maximum size takes some tens of milliseconds, unless it is made to
/// be slow.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The content of a page.
#[derive(Debug, Default)]
pub struct Document {
    /// In document order; those inside `<noscript>` come last.
    pub elements: Vec<Element>,
    /// All text and attribute values outside comments, both raw and with escapes of scripts and addresses
    /// decoded.
    pub words: String,
    /// The text of comments, likewise.
    pub comments: String,
    /// `false` when parsing stopped early, because the page is nested too deeply or takes too long.
    pub is_read_whole: bool,
}

impl Document {
    /// Parses a page. If it is truncated (`is_whole` is `false`), its last word may be incomplete.
    pub fn read(page: &str, is_whole: bool) -> Self {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut reading = read(page, deadline);
        for hidden in std::mem::take(&mut reading.noscripts) {
            let inside = read(&hidden, deadline);
            let elements = inside.elements.into_iter();
            let elements =
                elements.map(|element| Element { context: ElementContext::Noscript, ..element });
            reading.elements.extend(elements);
            reading.words.push('\n');
            reading.words.push_str(&inside.words);
            reading.comments.push_str(&inside.comments);
        }
        let mut words = reading.words;
        if !is_whole || !reading.is_read_whole {
            let is_part = |end: char| end.is_ascii_alphanumeric() || matches!(end, '-' | '_');
            words.truncate(words.trim_end_matches(is_part).len());
        }
        Self {
            elements: reading.elements,
            words: with_unescaped(words),
            comments: with_unescaped(reading.comments),
            is_read_whole: reading.is_read_whole,
        }
    }
}

fn with_unescaped(mut words: String) -> String {
    let plain = unescaped(&words);
    if plain != words {
        words.push('\n');
        words.push_str(&plain);
    }
    words
}

/// The result of one pass over a text.
struct Reading {
    elements: Vec<Element>,
    words: String,
    comments: String,
    noscripts: Vec<String>,
    is_read_whole: bool,
}

fn read(page: &str, deadline: Instant) -> Reading {
    let tree = TreeBuilder::new(Tree::new(), TreeBuilderOpts::default());
    let tokenizer = Tokenizer::new(Watch::over(tree), TokenizerOpts::default());
    let input = BufferQueue::default();
    let (mut rest, mut is_read_whole) = (page, true);
    while !rest.is_empty() {
        if tokenizer.sink.tree.sink.depth() > DEEPEST || Instant::now() > deadline {
            is_read_whole = false;
            break;
        }
        let step = rest.floor_char_boundary(STEP.min(rest.len()));
        let (now, later) = rest.split_at(step);
        input.push_back(StrTendril::from(now));
        // The tokenizer also returns at the end of every script.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        rest = later;
    }
    tokenizer.end();
    let watch = tokenizer.sink;
    Reading {
        elements: watch.tree.sink.elements(),
        words: watch.words.into_inner(),
        comments: watch.comments.into_inner(),
        noscripts: watch.noscripts.into_inner(),
        is_read_whole,
    }
}

/// Collects the text of a page between the tokenizer and the tree builder.
struct Watch {
    tree: TreeBuilder<Handle, Tree>,
    words: RefCell<String>,
    comments: RefCell<String>,
    /// The contents of `<noscript>`, which are markup only for browsers without scripting.
    noscripts: RefCell<Vec<String>>,
    is_in_noscript: Cell<bool>,
}

impl Watch {
    fn over(tree: TreeBuilder<Handle, Tree>) -> Self {
        Self {
            tree,
            words: RefCell::default(),
            comments: RefCell::default(),
            noscripts: RefCell::default(),
            is_in_noscript: Cell::new(false),
        }
    }

    fn append_tag(&self, tag: &Tag) {
        self.is_in_noscript.set(false);
        let mut words = self.words.borrow_mut();
        words.push('\n');
        for attribute in &tag.attrs {
            words.push_str(&attribute.value);
            words.push('\n');
        }
    }

    fn append_text(&self, text: &str) {
        match (self.is_in_noscript.get(), self.noscripts.borrow_mut().last_mut()) {
            (true, Some(noscript)) => noscript.push_str(text),
            _ => self.words.borrow_mut().push_str(text),
        }
    }
}

impl TokenSink for Watch {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        let mut begins_noscript = false;
        match &token {
            Token::TagToken(tag) => {
                self.append_tag(tag);
                begins_noscript =
                    tag.kind == TagKind::StartTag && tag.name == local_name!("noscript");
            }
            Token::CharacterTokens(text) => self.append_text(text),
            Token::CommentToken(text) => {
                let mut comments = self.comments.borrow_mut();
                comments.push_str(text);
                comments.push('\n');
                // A comment separates the words on both sides.
                self.words.borrow_mut().push('\n');
            }
            _ => {}
        }
        let result = self.tree.process_token(token, line);
        if begins_noscript && matches!(result, TokenSinkResult::RawData(RawKind::Rawtext)) {
            self.noscripts.borrow_mut().push(String::new());
            self.is_in_noscript.set(true);
        }
        result
    }

    fn end(&self) {
        self.tree.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.tree.adjusted_current_node_present_but_not_in_html_namespace()
    }
}
