//! Verification that a checkpoint extends the known state of a log.

use super::answer::Answer;
use crate::proof::format::checkpoint::Checkpoint;
use crate::proof::format::hashes::{self, Hash};
use crate::proof::format::note::{Note, NoteError, Verifier};
use crate::proof::format::path::is_consistent;
use crate::proof::format::submission::Submission;

pub struct Submitted<'b> {
    submission: Submission<'b>,
    note: Note<'b>,
    pub checkpoint: Checkpoint,
}

pub enum Evaluation {
    /// The note with its verified signatures.
    GoesOn(String),
    Refused(Answer),
}

impl<'b> Submitted<'b> {
    pub fn read(body: &'b str) -> Option<Self> {
        let submission = Submission::parse(body)?;
        let note = Note::parse(submission.checkpoint).ok()?;
        let checkpoint = Checkpoint::parse_extended(note.text)?;
        Some(Self { submission, note, checkpoint })
    }

    pub fn text(&self) -> &str {
        self.note.text
    }

    /// Verifies the checkpoint with the keys of its log, and against the size and root cosigned last.
    pub fn evaluate(&self, keys: &[Verifier], known: Option<(u64, Hash)>) -> Evaluation {
        let Some(lines) = self.signed_lines(keys) else {
            return Evaluation::Refused(Answer::Unsigned);
        };
        match self.refusal(known.unwrap_or_else(|| (0, hashes::empty()))) {
            None => Evaluation::GoesOn(format!("{}\n{lines}", self.note.text)),
            Some(refusal) => Evaluation::Refused(refusal),
        }
    }

    /// The lines of the log's own signatures; `None` without any, or if one is invalid.
    fn signed_lines(&self, keys: &[Verifier]) -> Option<String> {
        let mut lines = String::new();
        for key in keys {
            match key.line_in(&self.note) {
                Ok(line) => lines.push_str(&line),
                Err(NoteError::Unsigned) => {}
                Err(_) => return None,
            }
        }
        (!lines.is_empty()).then_some(lines)
    }

    fn refusal(&self, known: (u64, Hash)) -> Option<Answer> {
        let Submission { old, path, .. } = &self.submission;
        let new = (self.checkpoint.size, self.checkpoint.root);
        if *old > new.0 {
            return Some(Answer::Malformed);
        }
        if *old != known.0 {
            return Some(Answer::OtherSize(known.0));
        }
        if new.0 == known.0 && new.1 != known.1 {
            return Some(Answer::OtherRoot);
        }
        (!is_consistent(known, new, path)).then_some(Answer::Inconsistent)
    }
}
