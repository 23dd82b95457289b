//! A mutant: a place, and the text that replaces it.

use std::ops::Range;

use serde_json::{Value, json};

/// Part of a replacement: literal text, or the bytes of the source in a range, in which there may be other mutants.
pub enum Piece {
    Text(String),
    Source(Range<usize>),
}

impl Piece {
    pub fn text(text: impl Into<String>) -> Piece {
        Piece::Text(text.into())
    }

    fn json(&self) -> Value {
        match self {
            Piece::Text(text) => json!(text),
            Piece::Source(range) => json!([range.start, range.end]),
        }
    }
}

/// Describes where a mutant is and how a reader recognizes it.
pub struct Site<'a> {
    pub file: &'a str,
    pub source: &'a str,
    /// The innermost function with the place; empty outside functions.
    pub function: &'a str,
}

impl Site<'_> {
    /// Returns the range of the source line with byte `at`, without its indentation and line end.
    fn line(&self, at: usize) -> Range<usize> {
        let from = self.source[..at].rfind('\n').map_or(0, |end| end + 1);
        let to = self.source[at..].find('\n').map_or(self.source.len(), |end| at + end);
        let line = &self.source[from..to];
        from + (line.len() - line.trim_start().len())..from + line.trim_end().len()
    }

    /// Returns a mutant that replaces `whole` by `pieces`. A reader sees it as `token` of the source becoming `new`.
    pub fn replace(&self, kind: &str, whole: Range<usize>, token: Range<usize>, new: &str, pieces: &[Piece]) -> Value {
        let line = self.line(token.start);
        let change = format!("{}{new}{}", &self.source[line.start..token.start], &self.source[token.end..line.end]);
        let pieces: Vec<Value> = pieces.iter().map(Piece::json).collect();
        self.describe(kind, whole, line, &change, json!(pieces))
    }

    /// Returns a mutant that makes the condition `whole` false, which contains a `let` and cannot be an operand.
    pub fn never(&self, whole: Range<usize>) -> Value {
        let line = self.line(whole.start);
        self.describe("return", whole, line, "condition false", Value::Null)
    }

    /// Returns a mutant that replaces the condition `whole` by `pieces`; a reader sees it as `change`.
    pub fn condition(&self, whole: Range<usize>, change: &str, pieces: &[Piece]) -> Value {
        let line = self.line(whole.start);
        let pieces: Vec<Value> = pieces.iter().map(Piece::json).collect();
        self.describe("return", whole, line, change, json!(pieces))
    }

    /// Builds the line of output: `pieces` is null for a mutant that appends a guard to its place.
    fn describe(&self, kind: &str, whole: Range<usize>, line: Range<usize>, change: &str, pieces: Value) -> Value {
        json!({
            "file": self.file,
            "line": 1 + self.source[..line.start].matches('\n').count(),
            "function": self.function,
            "kind": kind,
            "start": whole.start,
            "end": whole.end,
            "place": &self.source[line.clone()],
            "change": change,
            "pieces": pieces,
        })
    }
}
