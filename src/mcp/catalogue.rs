use std::sync::LazyLock;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::Tool;

use super::tools::declared::Declared;
use super::{indirect, tools};
use crate::accounts::credentials::Accepts;
use crate::accounts::scope::Scope;
use crate::tool_calls::tool_server::ToolServer;
use crate::tool_calls::toolset::{Subject, Toolset};

pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::new);

pub struct Entry {
    /// The tool without the schema of its answers.
    pub tool: Tool,
    with_output: Tool,
    pub subject: Subject,
    is_usual: bool,
    scopes: &'static [Scope],
    accepts: Accepts,
}

impl Entry {
    fn new(declared: &Declared, subject: Subject) -> Self {
        let with_output = declared.route.attr.clone();
        let mut tool = with_output.clone();
        tool.output_schema = None;
        let is_usual = tools::USUAL.contains(&&*tool.name);
        let (scopes, accepts) = (declared.scopes, declared.accepts);
        Self { tool, with_output, subject, is_usual, scopes, accepts }
    }

    pub fn is_read_only(&self) -> bool {
        let hints = self.tool.annotations.as_ref();
        hints.and_then(|hints| hints.read_only_hint).unwrap_or(false)
    }

    /// Whether a key of this scope may call the tool. Without a key, every tool is shown.
    pub fn is_for(&self, scope: Option<Scope>) -> bool {
        scope.is_none_or(|scope| self.scopes.contains(&scope))
    }

    /// Whether a call requires a key or the token of an app.
    pub fn needs_key(&self) -> bool {
        matches!(self.accepts, Accepts::Key)
    }

    /// The scope to ask for before the first call: `operate` where it suffices, because most clients do
    /// more than read, and some cannot ask again.
    pub fn usual_scope(&self) -> Scope {
        self.first_of([Scope::Operate, Scope::Read])
    }

    fn first_of(&self, scopes: [Scope; 2]) -> Scope {
        let first = scopes.into_iter().find(|scope| self.scopes.contains(scope));
        first.unwrap_or(Scope::Full)
    }

    /// The scope that permits both the tool and everything that `scope` permits.
    pub fn scope_beyond(&self, scope: Scope) -> Scope {
        match scope {
            Scope::Read => self.first_of([Scope::Read, Scope::Operate]),
            Scope::Operate | Scope::Full => Scope::Full,
        }
    }
}

pub struct Catalogue {
    pub router: ToolRouter<ToolServer>,
    entries: Vec<Entry>,
    indirect: [Tool; 3],
}

impl Catalogue {
    fn new() -> Self {
        let (mut router, mut entries) = (ToolRouter::new(), Vec::new());
        for (subject, declared) in tools::all() {
            for declared in declared {
                entries.push(Entry::new(&declared, subject));
                router.add_route(declared.route);
            }
        }
        entries.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
        Self { router, entries, indirect: indirect::tools() }
    }

    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.name == name)
    }

    /// The tools that a key of this scope may call.
    pub fn entries(&self, scope: Option<Scope>) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.is_for(scope))
    }

    pub fn list(&self, toolset: Toolset, scope: Option<Scope>) -> Vec<Tool> {
        let shown = self.entries(scope).filter(|entry| match toolset {
            Toolset::Usual => entry.is_usual,
            Toolset::Reading => entry.is_read_only(),
            Toolset::Of(subject) => entry.subject == subject,
            Toolset::All => true,
        });
        let form = |entry: &Entry| match toolset {
            Toolset::All => entry.with_output.clone(),
            _ => entry.tool.clone(),
        };
        let mut tools = shown.map(form).collect::<Vec<_>>();
        if toolset == Toolset::Usual {
            tools.extend(self.indirect.iter().filter(|tool| may_change(scope, tool)).cloned());
        }
        tools
    }

    pub fn tool(&self, name: &str) -> Option<&Tool> {
        let named = |tool: &&Tool| tool.name == name;
        self.find(name).map(|entry| &entry.tool).or_else(|| self.indirect.iter().find(named))
    }
}

/// Hides `change_with` from keys with the scope `read`, which cannot use it.
fn may_change(scope: Option<Scope>, tool: &Tool) -> bool {
    scope != Some(Scope::Read) || tool.name != indirect::CHANGE_WITH
}
