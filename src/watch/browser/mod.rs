mod arguments;
pub mod bounds;
mod folder;
pub mod guard;
mod output;
mod process;
pub mod processes;
mod program;
mod user;

pub use arguments::Extra;
pub use folder::RunFolder;
pub use process::{Browser, StartError};
pub use program::Program;
