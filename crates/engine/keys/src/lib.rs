//! Keys of system files: what a part of a machine can be told.
//!
//! A part declares each of its keys once, as a row of a [`section!`]: name, field, type, kind of value with its unit and
//! range, default with its basis, condition, and help. The section is the struct from which the part reads its
//! configuration. A key belongs to the part that reads it, whatever table of the file it stands in. Files, checks, printed systems, the JSON Schema and messages are assembled from the rows elsewhere.

pub mod age;
mod basis;
mod defaults;
mod key;
mod kind;
mod section;
mod show;
mod value;
mod words;

pub use basis::Basis;
pub use defaults::defaults;
pub use key::{Choice, Fallback, Key, assumed, by_assumed, by_given, given};
pub use kind::{
    AGE, BOOL, COUNT, ENERGY, FRACTION, FREQUENCY, Kind, NUMBER, POWER, RATE, SIZE, Shape, TEXT, TIME, TIMES, TRANSFERS,
};
#[doc(hidden)]
pub use section::first;
pub use section::{Conflict, Section, Values, Why, expect, power_of_two};
pub use show::quote;
pub use value::{FromValue, Value};
pub use words::Word;
