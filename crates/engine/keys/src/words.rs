//! Choices by name.

/// A choice that system files name by a word, as [`words!`](crate::words) declares it.
pub trait Word: Copy + 'static {
    /// Returns the choice with this word.
    fn named(word: &str) -> Option<Self>;
}

/// Declares an enum of choices, each with its word in system files.
///
/// ```
/// keys::words! {
///     /// Order of service.
///     Order {
///         /// In order of arrival.
///         Fifo = "fifo",
///         /// The shortest first.
///         ShortestFirst = "shortest-first",
///     }
/// }
///
/// assert_eq!(Order::WORDS, ["fifo", "shortest-first"]);
/// assert_eq!(Order::named("fifo"), Some(Order::Fifo));
/// assert_eq!(Order::ShortestFirst.word(), "shortest-first");
/// assert_eq!(Order::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $enum:ident { $( $(#[$variantmeta:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $( $(#[$variantmeta])* $variant, )*
        }

        impl $enum {
            /// All choices.
            pub const ALL: &'static [$enum] = &[$( $enum::$variant, )*];

            /// The words, as written in system files.
            pub const WORDS: &'static [&'static str] = &[$( $word, )*];

            /// Returns the word, as written in system files.
            pub const fn word(self) -> &'static str {
                match self { $( $enum::$variant => $word, )* }
            }

            /// Returns the choice with this word.
            pub fn named(word: &str) -> Option<$enum> {
                match word {
                    $( $word => Some($enum::$variant), )*
                    _ => None,
                }
            }
        }

        impl $crate::Word for $enum {
            fn named(word: &str) -> Option<$enum> {
                <$enum>::named(word)
            }
        }

        impl $crate::FromValue for $enum {
            fn from_value(value: &$crate::Value) -> Option<$enum> {
                match value {
                    $crate::Value::Word(word) => <$enum>::named(word),
                    _ => None,
                }
            }
        }
    };
}
