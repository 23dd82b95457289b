//! Places that no mutant changes: tests, injected faults, and what the compiler evaluates.

use std::collections::BTreeSet;

use syn::{Attribute, Expr, Item, ItemConst, Type};

const INTEGERS: [&str; 12] = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// Returns true if an item is compiled only for tests, or only under some other condition.
pub fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("test"))
}

/// Returns the attributes of an item; none for those that hold no code.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        _ => &[],
    }
}

fn integer(item: &ItemConst) -> Option<String> {
    let Type::Path(path) = &*item.ty else { return None };
    let name = path.path.get_ident()?.to_string();
    INTEGERS.contains(&name.as_str()).then(|| item.ident.to_string())
}

/// Returns the names of the integer constants that a file declares outside its functions and modules.
pub fn integer_constants(file: &syn::File) -> BTreeSet<String> {
    let constants = file.items.iter().filter_map(|item| if let Item::Const(item) = item { Some(item) } else { None });
    constants.filter_map(integer).collect()
}

/// Returns true if a chain of `&&` contains a `let`, which cannot be an operand of anything else.
pub fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
            has_let(&binary.left) || has_let(&binary.right)
        }
        _ => false,
    }
}
