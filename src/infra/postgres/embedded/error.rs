use std::io;
use std::path::{Path, PathBuf};

/// The oldest supported major version.
pub(super) const OLDEST: u32 = 14;

/// An error of the embedded PostgreSQL. Every `Display` is one sentence for the person who started the program.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedPostgresError {
    #[error(
        "No PostgreSQL was found on this machine: install the PostgreSQL server package (Debian and Ubuntu: `apt install postgresql`), or set DATABASE_URL to a PostgreSQL server, version {oldest} or later.",
        oldest = OLDEST
    )]
    NotInstalled,
    #[error(
        "The only PostgreSQL found on this machine is version {found}: install the server package of version {oldest} or later, or set DATABASE_URL to a PostgreSQL server.",
        oldest = OLDEST
    )]
    TooOld { found: u32 },
    #[error(
        "The data in {} were written by PostgreSQL {written_by}, but this machine has only version {found}: install the server package of version {written_by} (Debian and Ubuntu: `apt install postgresql-{written_by}`), or move the data with pg_dump or pg_upgrade.",
        data.display()
    )]
    OtherMajor { data: PathBuf, written_by: u32, found: u32 },
    #[error(
        "Another Assent{} is already running on the data in {}: stop it first, or start this one in another folder.",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        home.display()
    )]
    InUse { home: PathBuf, pid: Option<i32> },
    #[error(
        "PostgreSQL does not run as root, and this machine has neither a user `postgres` nor `nobody` to run it: start the service as an ordinary user, or set DATABASE_URL."
    )]
    NoServerUser,
    #[error(
        "The database in {} belongs to the user with the number {uid}: start the service as that user or as root, or in another folder.",
        home.display()
    )]
    OtherOwner { home: PathBuf, uid: u32 },
    #[error(
        "The database in {} belongs to the user with the number {uid}, who may not enter that folder: let that user through its parent folders (chmod o+x), or set DATABASE_URL.",
        home.display()
    )]
    Unreachable { home: PathBuf, uid: u32 },
    #[error(
        "{} leads to a folder that does not exist: bring that folder back, or remove the link to begin with an empty database.",
        link.display()
    )]
    LostData { link: PathBuf },
    #[error(
        "The folder {} for the database's socket is not ours: remove it, or start the service in a folder with a shorter path.",
        folder.display()
    )]
    ForeignSocketFolder { folder: PathBuf },
    #[error("Could not {doing} {}: {source}.", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("The PostgreSQL program {program} failed{}", said.as_ref().map_or(".".into(), |said| format!(": {said}")))]
    ProgramFailed { program: &'static str, said: Option<String> },
    #[error("The embedded PostgreSQL runs, but its database could not be prepared: {0}.")]
    Prepare(#[from] sqlx::Error),
}

impl EmbeddedPostgresError {
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

/// The lines of a program's output that name a cause, or else its last three lines.
pub(super) fn one_line(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let causes: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| {
            ["FATAL", "PANIC", "error:", "HINT", "DETAIL"].iter().any(|mark| line.contains(mark))
        })
        .collect();
    let chosen =
        if causes.is_empty() { &lines[lines.len().saturating_sub(3)..] } else { &causes[..] };
    (!chosen.is_empty()).then(|| chosen.join(" "))
}
