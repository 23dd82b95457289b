//! Sections with the defaults that their table states.

use std::collections::BTreeMap;

use sim::{Time, units};

use crate::{Choice, Fallback, Key, Kind, Section, Shape, Value, Values, age};

/// Returns the section `S` with the default of each of its keys, which the table `T` declares.
///
/// `others` gives the values of keys that `T` does not declare: those that choose among its defaults, such as the type of
/// the link, and those that its rows read without declaring them.
///
/// # Panics
/// If a key is declared neither in `T` nor in `others`, or a default does not match its kind.
///
/// ```
/// use keys::{BOOL, Fallback, Section, TIME, Value, assumed, by_assumed, section};
/// use sim::Time;
///
/// section! {
///     /// Suspension of programs.
///     Suspend {
///         "suspend.programs" programs: bool = BOOL,
///             assumed("true", "supported by current chips"),
///             "Suspend programs for reads.";
///         "suspend.latency" latency: Time = TIME,
///             Fallback::By("cell", &[by_assumed("slc", "5us", "a short pulse"), by_assumed("tlc", "20us", "a long one")]),
///             "Time until the die is ready.";
///     }
/// }
///
/// let suspend: Suspend = keys::defaults::<Suspend, _>(&[("cell", Value::Word("tlc"))]);
/// assert_eq!(suspend, Suspend { programs: true, latency: Time::from_us(20) });
/// ```
pub fn defaults<T: Section, S: Section>(others: &[(&'static str, Value)]) -> S {
    let mut rows = Vec::new();
    T::keys(&mut rows);
    let mut values: BTreeMap<&str, Value> = others.iter().cloned().collect();
    // Defaults that depend on another key come last.
    for depends in [false, true] {
        for key in rows.iter().filter(|key| matches!(key.default, Fallback::By(..)) == depends) {
            let value = default_of(key, &values);
            values.entry(key.name).or_insert(value);
        }
    }
    S::read(&Values(&|name| values.get(name).unwrap_or_else(|| panic!("{name} is not declared"))))
}

fn default_of(key: &Key, values: &BTreeMap<&str, Value>) -> Value {
    let choice = match key.default {
        Fallback::Is(choice) => choice,
        Fallback::By(other, choices) => {
            let Some(Value::Word(word)) = values.get(other) else {
                panic!("{other} has no word, which {} needs", key.name)
            };
            // A key that does not apply still has some value.
            let chosen = choices.iter().find(|(of, _)| of == word).or(choices.first());
            chosen.unwrap_or_else(|| panic!("{} has no default", key.name)).1
        }
    };
    choice
        .value(&key.kind)
        .unwrap_or_else(|| panic!("the default of {} is {}, which is not of its kind", key.name, choice.text))
}

impl Choice {
    /// Parses the value; `None` if it is not of `kind`.
    pub fn value(&self, kind: &Kind) -> Option<Value> {
        let text = self.text;
        if let Some(word) = kind.or.filter(|word| *word == text) {
            return Some(Value::Word(word));
        }
        let word = |words: &[&'static str], text: &str| words.iter().find(|word| **word == text).copied();
        Some(match kind.shape {
            Shape::Time => Value::Time(units::time(text).ok()?),
            Shape::Times => {
                Value::Times(items(text).map(|time| units::time(time).ok()).collect::<Option<Vec<Time>>>()?)
            }
            Shape::Age => Value::Age(age::parse(text).ok()?),
            Shape::Size => Value::Size(units::size(text).ok()?),
            Shape::Rate => Value::Rate(units::rate(text).ok()?),
            Shape::Transfers => Value::Transfers(units::transfers(text).ok()?),
            Shape::Frequency => Value::Frequency(units::frequency(text).ok()?),
            Shape::Power => Value::Power(units::power(text).ok()?),
            Shape::Energy => Value::Energy(units::energy(text).ok()?),
            Shape::Count => Value::Count(text.parse().ok()?),
            Shape::Fraction | Shape::Number => Value::Number(match text.strip_suffix('%') {
                Some(percent) => percent.parse::<f64>().ok()? / 100.0,
                None => text.parse().ok()?,
            }),
            Shape::Bool => Value::Bool(text.parse().ok()?),
            Shape::Word(words) => Value::Word(word(words, text)?),
            Shape::Words(words) => Value::Words(items(text).map(|text| word(words, text)).collect::<Option<_>>()?),
            Shape::Text => Value::Text(text.trim_matches('"').to_owned()),
        })
    }
}

/// Returns the items of a list in brackets, without their quotes, or the one value.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    list.split(',').map(|item| item.trim().trim_matches('"'))
}
