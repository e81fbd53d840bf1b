mod arguments;
pub mod bounds;
mod folder;
pub mod guard;
mod output;
mod process;
mod processes;
mod program;
mod user;
mod waits;

pub use arguments::Extra;
pub use folder::RunFolder;
pub use process::{Browser, StartError};
pub use program::Program;
pub use waits::Waits;
