//! Values of keys, in base units.

use sim::Time;

use crate::Word;

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A time.
    Time(Time),
    /// One time per page type, or a single one if all are equal.
    Times(Vec<Time>),
    /// Whole seconds.
    Age(u64),
    /// Bytes.
    Size(u64),
    /// Bytes per second.
    Rate(u64),
    /// Transfers per second.
    Transfers(u64),
    /// Cycles per second.
    Frequency(u64),
    /// Microwatts.
    Power(u64),
    /// Picojoules.
    Energy(u64),
    /// A whole number.
    Count(u64),
    /// A fraction or another number.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// A word of the key's choice, or the word that replaces a value.
    Word(&'static str),
    /// Several words of the key's choice.
    Words(Vec<&'static str>),
    /// Any text.
    Text(String),
}

/// Conversion from a value to the type of its field. `None` indicates an error in the table.
pub trait FromValue: Sized {
    /// Largest value of the field's type, in the base unit. A key's range lies within it.
    const MAX: f64 = f64::INFINITY;

    /// Converts `value`.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $($pattern:pat => $value:expr),+;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<$type> {
                match value {
                    $($pattern => $value,)+
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    Time: Value::Time(time) => Some(*time);
    u64: Value::Size(n) | Value::Rate(n) | Value::Transfers(n) | Value::Frequency(n) | Value::Power(n)
        | Value::Energy(n) | Value::Age(n) | Value::Count(n)
        => Some(*n);
    f64: Value::Number(x) => Some(*x), Value::Count(n) => Some(*n as f64);
    bool: Value::Bool(yes) => Some(*yes);
    String: Value::Text(text) => Some(text.clone());
}

macro_rules! from_whole {
    ($($type:ty)*) => {$(
        impl FromValue for $type {
            const MAX: f64 = <$type>::MAX as f64;

            fn from_value(value: &Value) -> Option<$type> {
                u64::from_value(value).and_then(|whole| <$type>::try_from(whole).ok())
            }
        }
    )*};
}

from_whole! { u8 u16 u32 }

/// One time per page type; the first one stands for types beyond the list.
impl<const TYPES: usize> FromValue for [Time; TYPES] {
    fn from_value(value: &Value) -> Option<[Time; TYPES]> {
        let Value::Times(times) = value else { return None };
        Some(std::array::from_fn(|i| times.get(i).copied().unwrap_or(times[0])))
    }
}

/// A word that replaces a value becomes `None`.
impl<T: FromValue> FromValue for Option<T> {
    const MAX: f64 = T::MAX;

    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Word(_) => Some(None),
            _ => T::from_value(value).map(Some),
        }
    }
}

impl<T: Word> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Option<Vec<T>> {
        let Value::Words(words) = value else { return None };
        words.iter().map(|word| T::named(word)).collect()
    }
}
