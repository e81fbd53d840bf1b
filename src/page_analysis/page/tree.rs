//! The tree that html5ever builds of a page, reduced to parents and the few elements that are kept. Nodes
//! refer to their parents, not to their children, so unreferenced nodes are freed immediately. The trees of
//! `scraper` and `markup5ever_rcdom` keep every node and do not report how deep they are.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName, expanded_name, local_name, ns};

use super::element::{Element, ElementContext, Name};

pub type Handle = Rc<Node>;

pub struct Node {
    name: QualName,
    /// `None` for elements that are not kept.
    kept: Option<Name>,
    attributes: Vec<(String, String)>,
    text: RefCell<String>,
    parent: RefCell<Option<Handle>>,
    depth: Cell<usize>,
    contents: Option<Handle>,
    is_integration_point: bool,
    is_unfinished: Cell<bool>,
}

impl Node {
    fn root() -> Handle {
        let name = QualName::new(None, ns!(), local_name!(""));
        Rc::new(Self::new(name, None, Vec::new()))
    }

    fn new(name: QualName, kept: Option<Name>, attributes: Vec<(String, String)>) -> Self {
        Self {
            name,
            kept,
            attributes,
            text: RefCell::default(),
            parent: RefCell::default(),
            depth: Cell::new(0),
            contents: None,
            is_integration_point: false,
            is_unfinished: Cell::new(false),
        }
    }
}

pub struct Tree {
    document: Handle,
    kept: RefCell<Vec<Handle>>,
    deepest: Cell<usize>,
}

impl Tree {
    pub fn new() -> Self {
        Self { document: Node::root(), kept: RefCell::default(), deepest: Cell::new(0) }
    }

    /// The maximum nesting depth so far.
    pub fn depth(&self) -> usize {
        self.deepest.get()
    }

    /// The kept elements in document order.
    pub fn elements(&self) -> Vec<Element> {
        let kept = self.kept.borrow();
        kept.iter().filter_map(|node| self.element(node)).collect()
    }

    fn element(&self, node: &Handle) -> Option<Element> {
        let element = Element {
            name: node.kept?,
            attributes: node.attributes.clone(),
            text: node.text.borrow().clone(),
            context: if self.is_in_document(node) {
                ElementContext::Document
            } else {
                ElementContext::Template
            },
            is_foreign: node.name.ns != ns!(html),
            is_unfinished: node.is_unfinished.get(),
        };
        Some(element)
    }

    fn is_in_document(&self, node: &Handle) -> bool {
        let mut last = Rc::clone(node);
        loop {
            let parent = last.parent.borrow().clone();
            match parent {
                Some(parent) => last = parent,
                None => return Rc::ptr_eq(&last, &self.document),
            }
        }
    }

    fn attach(&self, parent: &Handle, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => {
                node.depth.set(parent.depth.get() + 1);
                self.deepest.set(self.deepest.get().max(node.depth.get()));
                node.parent.replace(Some(Rc::clone(parent)));
            }
            NodeOrText::AppendText(text) if parent.kept == Some(Name::Script) => {
                parent.text.borrow_mut().push_str(&text);
            }
            NodeOrText::AppendText(_) => {}
        }
    }
}

/// Lowercases the names, because html5ever keeps some SVG names in mixed case. Prefixes are omitted.
fn owned(attributes: Vec<Attribute>) -> Vec<(String, String)> {
    let owned =
        |attribute: Attribute| (attribute.name.local.to_lowercase(), attribute.value.to_string());
    attributes.into_iter().map(owned).collect()
}

fn kept(name: &QualName) -> Option<Name> {
    match name.expanded() {
        expanded_name!(html "script") | expanded_name!(svg "script") => Some(Name::Script),
        expanded_name!(html "meta") => Some(Name::Meta),
        expanded_name!(html "base") => Some(Name::Base),
        expanded_name!(html "body") => Some(Name::Body),
        _ => None,
    }
}

impl TreeSink for Tree {
    type Handle = Handle;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let kept = kept(&name);
        let attributes = if kept.is_some() { owned(attributes) } else { Vec::new() };
        let node = Rc::new(Node {
            contents: flags.template.then(Node::root),
            is_integration_point: flags.mathml_annotation_xml_integration_point,
            ..Node::new(name, kept, attributes)
        });
        if node.kept.is_some() {
            self.kept.borrow_mut().push(Rc::clone(&node));
        }
        node
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        Node::root()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        Node::root()
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.attach(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let parent = element.parent.borrow().clone();
        self.attach(parent.as_ref().unwrap_or(previous), child);
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn mark_script_already_started(&self, node: &Handle) {
        node.is_unfinished.set(true);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.contents.as_ref().map_or_else(Node::root, Rc::clone)
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, node: NodeOrText<Handle>) {
        let parent = sibling.parent.borrow().clone();
        if let Some(parent) = parent {
            self.attach(&parent, node);
        }
    }

    fn add_attrs_if_missing(&self, _: &Handle, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Handle) {
        target.parent.replace(None);
    }

    /// Does nothing: only formatting elements move their children, to a copy of themselves inside the same parent,
    /// which does not change whether the children are in the document or in a template.
    fn reparent_children(&self, _: &Handle, _: &Handle) {}

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        target.is_integration_point
    }

    fn allow_declarative_shadow_roots(&self, _: &Handle) -> bool {
        false
    }
}
