//! Determines each key's value: the last assignment, or the default.

use crate::Setting;
use crate::error::{Place, SystemError};
use crate::file::chain::Chain;
use crate::file::layer::{self, Layer};
use crate::key::read::read;
use crate::key::table::{TITLE, keys, row};
use keys::{Basis, Choice, Fallback, Key, Value};

/// Keys of which exactly one is set; the other is `"auto"`.
const EITHER: (&str, &str) = ("ftl.capacity", "ftl.over_provisioning");

/// A value set by a file or a `--set`.
#[derive(Clone)]
struct Given {
    value: Value,
    place: Place,
    /// Index of its layer in the chain.
    layer: usize,
}

/// Returns the settings of all keys, in the table's order.
pub(crate) fn resolve(chain: Chain, sets: Layer) -> Result<Vec<Setting>, SystemError> {
    let files = chain.layers.len();
    let mut layers = chain.layers;
    layers.push(sets);
    let mut given: Vec<Option<Given>> = keys()
        .iter()
        .enumerate()
        .map(|(row, _)| {
            let last = layers.iter().enumerate().rev().find_map(|(layer, l)| Some((layer, l.values.get(&row)?)));
            last.map(|(layer, (value, place))| Given { value: value.clone(), place: place.clone(), layer })
        })
        .collect();
    // A title applies to its own file only, not to files that extend it.
    given[TITLE] = given[TITLE].take().filter(|title| title.layer + 1 >= files);
    either(&mut given)?;
    let resolver = Resolver { layers: &layers, files, given: &given, stem: &chain.stem };
    (0..keys().len()).map(|row| resolver.setting(row)).collect()
}

/// Makes the later layer take precedence for the two exclusive keys. Setting both in one layer is an error.
fn either(given: &mut [Option<Given>]) -> Result<(), SystemError> {
    let auto = Value::Word("auto");
    let (a, b) = (row(EITHER.0), row(EITHER.1));
    let of = |row: usize| given[row].clone().filter(|g| g.value != auto);
    let set_auto = |row: usize| given[row].as_ref().is_some_and(|g| g.value == auto);
    match (of(a), of(b)) {
        (Some(x), Some(y)) if x.layer == y.layer => Err(SystemError::Conflict {
            place: y.place,
            why: format!("{} and {} are both given, expected one of them", EITHER.0, EITHER.1),
        }),
        (Some(x), Some(y)) => {
            let (loser, winner) = if x.layer > y.layer { (b, x) } else { (a, y) };
            given[loser] = Some(Given { value: auto, ..winner });
            Ok(())
        }
        (Some(x), None) => {
            given[b] = Some(Given { value: auto, ..x });
            Ok(())
        }
        (None, Some(_)) => Ok(()),
        (None, None) if set_auto(b) => {
            let place = given[b].as_ref().map(|g| g.place.clone()).expect("a value");
            Err(SystemError::Conflict {
                place,
                why: format!("{} and {} are both \"auto\", expected one of them", EITHER.0, EITHER.1),
            })
        }
        (None, None) => Ok(()),
    }
}

struct Resolver<'a> {
    layers: &'a [Layer],
    /// Number of layers that are files.
    files: usize,
    given: &'a [Option<Given>],
    stem: &'a str,
}

impl Resolver<'_> {
    fn setting(&self, row: usize) -> Result<Setting, SystemError> {
        let key = &keys()[row];
        let applies = self.applies(key);
        let given = self.given[row].as_ref();
        if let (false, Some(given), Some((other, words))) = (applies, given, key.when) {
            // Setting a key that does not apply is an error, unless a later layer than the key's made it inapplicable.
            let chosen = self.given[self::row(other)].as_ref();
            if chosen.is_none_or(|chosen| chosen.layer <= given.layer) {
                let words = crate::file::print::alternatives(words);
                let why = format!("set where {other} is {}, expected only where it is {words}", self.value(other));
                return Err(SystemError::value(&given.place, key.name, why));
            }
        }
        let choice = self.default(key);
        let default = match row {
            TITLE => Value::Text(self.stem.to_owned()),
            _ => read_default(key, choice),
        };
        let given = given.filter(|_| applies);
        let set_in = given.map_or(0, |given| given.layer);
        let stated = self.layers.iter().skip(set_in).rev().find_map(|layer| layer.bases.get(&row));
        let own = given.is_none_or(|given| given.value == default);
        let basis = match (stated, given) {
            (Some(stated), _) => Some(stated.clone()),
            (None, _) if own => Basis::new(choice.kind, choice.why),
            // An exclusive key that is auto follows from the other.
            (None, Some(Given { value: Value::Word("auto"), .. })) if [EITHER.0, EITHER.1].contains(&key.name) => {
                Some(Basis::Given("follows from the other key".to_owned()))
            }
            (None, _) => None,
        };
        Ok(Setting {
            key,
            value: given.map_or(default, |given| given.value.clone()),
            place: given.map(|given| given.place.clone()),
            basis,
            applies,
            layer: given.map_or(0, |given| given.layer + 1),
            inherited: given.is_some_and(|given| given.layer + 1 < self.files),
            stated: stated.is_some(),
        })
    }

    /// Returns the value of a key that other keys depend on.
    fn value(&self, name: &str) -> Value {
        let key = &keys()[row(name)];
        let given = self.given[row(name)].as_ref().filter(|_| self.applies(key));
        given.map_or_else(|| read_default(key, self.default(key)), |given| given.value.clone())
    }

    fn applies(&self, key: &Key) -> bool {
        key.when.is_none_or(|(other, words)| {
            let value = self.value(other);
            self.applies(&keys()[row(other)]) && words.iter().any(|word| value == Value::Word(word))
        })
    }

    fn default(&self, key: &Key) -> Choice {
        match key.default {
            Fallback::Is(choice) => choice,
            Fallback::By(other, choices) => {
                let Value::Word(word) = self.value(other) else { panic!("{other} is not a choice of words") };
                // A key that does not apply still needs some value.
                let meaningless = || choices.first().filter(|_| !self.applies(key));
                let choice = choices.iter().find(|(of, _)| *of == word).or_else(meaningless);
                choice.unwrap_or_else(|| panic!("{} has no default for {other} = {word}", key.name)).1
            }
        }
    }
}

fn read_default(key: &Key, choice: Choice) -> Value {
    let read = layer::with_value(choice.text, |value| read(&key.kind, value));
    read.unwrap_or_else(|why| panic!("the default of {}: {why}", key.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part that reads its own defaults has the values that a file would give.
    #[test]
    fn a_default_is_the_same_for_a_part_and_for_a_file() {
        for key in keys() {
            let choices = match key.default {
                Fallback::Is(choice) => vec![choice],
                Fallback::By(_, choices) => choices.iter().map(|(_, choice)| *choice).collect(),
            };
            for choice in choices {
                assert_eq!(choice.value(&key.kind), Some(read_default(key, choice)), "{}", key.name);
            }
        }
    }
}
