/// A tool: its description, and hints about its effects, as MCP defines them.
#[derive(Clone, Copy)]
pub struct Tool {
    pub title: &'static str,
    /// States when an agent should choose the tool, and how to continue after it.
    pub description: &'static str,
    pub is_read_only: bool,
    /// Whether it changes or deletes stored data, rather than only adding to it.
    pub is_destructive: bool,
    /// Whether a repeated call has no further effect.
    pub is_idempotent: bool,
    /// Whether it reaches mailboxes, sites or other services.
    pub is_open_world: bool,
}

impl Tool {
    pub const READ_ONLY: Self = Self {
        title: "",
        description: "",
        is_read_only: true,
        is_destructive: false,
        is_idempotent: false,
        is_open_world: false,
    };
    pub const ADDITIVE: Self = Self { is_read_only: false, ..Self::READ_ONLY };
    pub const DESTRUCTIVE: Self = Self { is_destructive: true, ..Self::ADDITIVE };

    pub const fn idempotent(self) -> Self {
        Self { is_idempotent: true, ..self }
    }

    pub const fn open_world(self) -> Self {
        Self { is_open_world: true, ..self }
    }

    pub const fn described(self, title: &'static str, description: &'static str) -> Self {
        Self { title, description, ..self }
    }
}
