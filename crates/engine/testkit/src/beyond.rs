//! Calls with numbers beyond a table. Safe code must not reach what lies behind a table, in release builds either.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Asserts that `call` panics; `what` is its source.
///
/// # Panics
/// If it returns.
pub fn refuses<R>(what: &str, call: impl FnOnce() -> R) {
    let returns = catch_unwind(AssertUnwindSafe(|| {
        black_box(call());
    }));
    assert!(returns.is_err(), "`{what}` accepts a number beyond its table");
}

/// Asserts that each call panics, each with an owner of its own: `refused!(owner = expression; call, call, …)`.
#[macro_export]
macro_rules! refused {
    ($owner:ident = $new:expr; $($call:expr),+ $(,)?) => {
        $({
            // Outside of the call, so that an owner that cannot be created is no refusal.
            #[allow(unused_mut)]
            let mut $owner = $new;
            $crate::beyond::refuses(stringify!($call), || {
                let _ = std::hint::black_box($call);
            });
        })+
    };
}

#[cfg(test)]
mod tests {
    fn table() -> Vec<i32> {
        vec![1, 2]
    }

    #[test]
    fn a_panic_is_a_refusal() {
        refused!(table = table(); table[2], table.swap(0, 2));
    }

    #[test]
    #[should_panic(expected = "no table")]
    fn an_owner_that_cannot_be_created_is_no_refusal() {
        fn none() -> Vec<i32> {
            panic!("no table")
        }
        refused!(table = none(); table[2]);
    }

    #[test]
    #[should_panic(expected = "`table.get(2)` accepts a number beyond its table")]
    fn a_value_is_none() {
        refused!(table = table(); table.get(2));
    }
}
