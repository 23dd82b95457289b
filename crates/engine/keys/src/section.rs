//! Sections: a table of keys, the struct that a part reads it into, and the checks over several of its keys.

use crate::{FromValue, Key, Value};

/// A table of keys that is read into a struct; [`section!`](crate::section) declares it.
pub trait Section: Sized {
    /// Appends the keys of the section and of its tables.
    fn keys(table: &mut Vec<Key>);

    /// Reads the section and its tables.
    ///
    /// # Panics
    /// If a value does not match its field's type, which is an error in the table.
    fn read(values: &Values<'_>) -> Self;

    /// Checks the keys of the section, and of its tables, against each other.
    ///
    /// # Errors
    /// Returns the first conflict found.
    fn check(&self) -> Result<(), Conflict>;
}

/// The values of all keys, by name.
pub struct Values<'a>(pub &'a dyn Fn(&str) -> &'a Value);

impl Values<'_> {
    /// Returns the value of the key `name`, converted to the type of its field.
    ///
    /// # Panics
    /// If there is no such key, or its value does not match the type.
    pub fn get<T: FromValue>(&self, name: &str) -> T {
        let value = (self.0)(name);
        T::from_value(value)
            .unwrap_or_else(|| panic!("{name} has the value {value}, which does not match its field's type"))
    }
}

/// Values that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The keys that decide. A message begins with the first one's value.
    pub keys: Vec<&'static str>,
    /// Why they do not fit.
    pub why: Why,
}

/// Reason of a [`Conflict`], which a message completes with the values of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// `KEY is VALUE, expected …`.
    Expected(String),
    /// `KEY is VALUE, but OTHER is VALUE: …`, of the first two keys.
    But(&'static str),
    /// `KEY is VALUE and OTHER is VALUE, expected …`, of the first two keys.
    And(&'static str),
}

/// Returns a conflict unless `holds`: the first of `keys` was expected to be `expected`.
///
/// # Errors
/// If it does not hold.
pub fn expect(holds: bool, keys: &[&'static str], expected: impl Into<String>) -> Result<(), Conflict> {
    match holds {
        true => Ok(()),
        false => Err(Conflict { keys: keys.to_vec(), why: Why::Expected(expected.into()) }),
    }
}

/// Returns a conflict unless `value`, that of `key`, is a power of two.
///
/// # Errors
/// If it is not.
pub fn power_of_two(key: &'static str, value: u64) -> Result<(), Conflict> {
    expect(value.is_power_of_two(), &[key], "a power of two")
}

/// Returns the condition of a row, if it has one.
#[doc(hidden)]
pub const fn first(
    when: &[(&'static str, &'static [&'static str])],
) -> Option<(&'static str, &'static [&'static str])> {
    match when {
        [] => None,
        [first, ..] => Some(*first),
    }
}

/// Declares a table of keys and the struct it is read into. Each row gives the key, its field, and the docs of both.
///
/// A row without kind and default reads a key that another row declares. `table` adds a struct with a table of its own.
/// `check` names a method that checks the section's keys against each other.
///
/// ```
/// use keys::{COUNT, Conflict, Section, TIME, assumed, section};
/// use sim::Time;
///
/// section! {
///     /// Suspension of programs.
///     Suspend {
///         "suspend.latency" latency: Time = TIME,
///             assumed("20us", "the rest of the current pulse"),
///             "Time until the die is ready.";
///         "suspend.max" max: u32 = COUNT.within(1.0, 65535.0),
///             assumed("8", "reads must not starve a program"),
///             "Maximum number of suspensions per operation.";
///
///         check several;
///     }
/// }
///
/// impl Suspend {
///     fn several(&self) -> Result<(), Conflict> {
///         let zero = self.max > 1 && self.latency == Time::ZERO;
///         keys::expect(!zero, &["suspend.latency", "suspend.max"], "more than 0s where suspend.max is above 1")
///     }
/// }
///
/// let mut rows = Vec::new();
/// Suspend::keys(&mut rows);
/// assert_eq!(rows[1].name, "suspend.max");
/// ```
#[macro_export]
macro_rules! section {
    (
        $(#[$meta:meta])*
        $struct:ident {
            $(
                $name:literal $field:ident: $type:ty $(= $kind:expr, $default:expr, $help:literal
                $(, when $key:literal is $($word:literal)|+)?)?;
            )*
            $( $(#[$submeta:meta])* table $sub:ident: $subtype:ty; )*
            $( check $check:ident; )?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $struct {
            $(
                $( #[doc = $help] #[doc = ""] )?
                #[doc = concat!("Key: `", $name, "`.")]
                pub $field: $type,
            )*
            $( $(#[$submeta])* pub $sub: $subtype, )*
        }

        impl $crate::Section for $struct {
            fn keys(table: &mut Vec<$crate::Key>) {
                $($(
                    table.push(const {
                        const WHEN: &[(&str, &[&str])] = &[$( ($key, &[$($word),+]) )?];
                        const KIND: $crate::Kind = $kind;
                        assert!(KIND.max <= <$type as $crate::FromValue>::MAX, "the range exceeds that of the field");
                        $crate::Key {
                            name: $name,
                            kind: KIND,
                            default: $default,
                            when: $crate::first(WHEN),
                            help: $help,
                        }
                    });
                )?)*
                $( <$subtype as $crate::Section>::keys(table); )*
            }

            fn read(values: &$crate::Values<'_>) -> $struct {
                $struct {
                    $( $field: values.get($name), )*
                    $( $sub: $crate::Section::read(values), )*
                }
            }

            fn check(&self) -> Result<(), $crate::Conflict> {
                $( $crate::Section::check(&self.$sub)?; )*
                $( self.$check()?; )?
                Ok(())
            }
        }
    };
}
