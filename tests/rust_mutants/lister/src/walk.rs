//! Walks a file and finds its mutants: comparisons, `&&` and `||`, integer constants, and conditions of early exits.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprIf, ExprLit, ExprPath, Lit, Stmt};

use crate::exclude;
use crate::mutant::{Piece, Site};

/// Returns the mutants of `source`, an outer one before those inside its place.
pub fn mutants(file: &str, source: &str) -> syn::Result<Vec<Value>> {
    let parsed = syn::parse_file(source)?;
    let constants = exclude::integer_constants(&parsed);
    let mut walk =
        Walk { file, source, constants, function: String::new(), found: Vec::new(), in_index: false, is_most: false };
    walk.visit_file(&parsed);
    Ok(walk.found)
}

struct Walk<'a> {
    file: &'a str,
    source: &'a str,
    constants: BTreeSet<String>,
    function: String,
    found: Vec<Value>,
    /// Inside the brackets of an index.
    in_index: bool,
    /// Constants become no larger.
    is_most: bool,
}

/// Returns the operators that may stand in place of `operator`.
fn replacements(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        _ => &[],
    }
}

/// Returns true if a block ends by leaving its function or loop.
fn exits(block: &syn::Block) -> bool {
    let last = block.stmts.last().map(|statement| match statement {
        Stmt::Expr(expression, _) => matches!(expression, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_)),
        _ => false,
    });
    last.unwrap_or(false)
}

impl Walk<'_> {
    fn site(&self) -> Site<'_> {
        Site { file: self.file, source: self.source, function: &self.function }
    }

    /// Walks the body of a function, unless the compiler evaluates it or only some builds have it.
    fn enter(&mut self, signature: &syn::Signature, attributes: &[syn::Attribute], body: &syn::Block) {
        if signature.constness.is_some() || exclude::is_conditional(attributes) {
            return;
        }
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        self.visit_block(body);
        self.function = outer;
    }

    fn integer(&mut self, place: Range<usize>, value: u128, suffix: &str) {
        let (more, less) = ((!self.is_most).then_some(value + 1), value.checked_sub(1));
        for new in more.into_iter().chain(less) {
            let new = format!("{new}{suffix}");
            let mutant = self.site().replace("constant", place.clone(), place.clone(), &new, &[Piece::text(&*new)]);
            self.found.push(mutant);
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !exclude::is_conditional(exclude::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.enter(&item.sig, &item.attrs, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.enter(&item.sig, &item.attrs, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.enter(&item.sig, &item.attrs, body);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Expr(Expr::If(inner), _) => &inner.attrs,
            Stmt::Expr(Expr::Block(inner), _) => &inner.attrs,
            _ => return visit::visit_stmt(self, statement),
        };
        if !exclude::is_conditional(attributes) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr_if(&mut self, branch: &'ast ExprIf) {
        let place = branch.cond.span().byte_range();
        if exits(&branch.then_branch) {
            let site = self.site();
            let mutants = if exclude::has_let(&branch.cond) {
                vec![site.never(place)]
            } else {
                let negated = [Piece::text("!("), Piece::Source(place.clone()), Piece::text(")")];
                vec![
                    site.condition(place.clone(), "condition negated", &negated),
                    site.condition(place, "condition false", &[Piece::text("false")]),
                ]
            };
            self.found.extend(mutants);
        }
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let logical = matches!(binary.op, BinOp::And(_) | BinOp::Or(_));
        if !logical || !(exclude::has_let(&binary.left) || exclude::has_let(&binary.right)) {
            let kind = if logical { "logic" } else { "comparison" };
            let range = |of: &dyn Spanned| of.span().byte_range();
            let (whole, token) = (range(binary), range(&binary.op));
            let (left, right) = (range(&*binary.left), range(&*binary.right));
            for new in replacements(&binary.op) {
                let pieces = [
                    Piece::text("("),
                    Piece::Source(left.clone()),
                    Piece::text(format!(") {new} (")),
                    Piece::Source(right.clone()),
                    Piece::text(")"),
                ];
                let mutant = self.site().replace(kind, whole.clone(), token.clone(), new, &pieces);
                self.found.push(mutant);
            }
        }
        self.visit_expr(&binary.left);
        // A larger divisor fails as soon as an index reaches it, or the remainder only spares a bounds check.
        let outer = self.is_most;
        self.is_most |= self.in_index && matches!(binary.op, BinOp::Rem(_));
        self.visit_expr(&binary.right);
        self.is_most = outer;
    }

    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        self.visit_expr(&index.expr);
        let outer = std::mem::replace(&mut self.in_index, true);
        self.visit_expr(&index.index);
        self.in_index = outer;
    }

    // Capacities change no result.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let is_capacity = matches!(&*call.func, Expr::Path(path)
            if path.path.segments.last().is_some_and(|last| last.ident == "with_capacity"));
        if !is_capacity {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_expr_lit(&mut self, literal: &'ast ExprLit) {
        if let Lit::Int(number) = &literal.lit
            && let Ok(value) = number.base10_parse::<u128>()
        {
            self.integer(literal.span().byte_range(), value, number.suffix());
        }
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let Some(name) = path.path.get_ident().map(ToString::to_string).filter(|name| self.constants.contains(name))
        else {
            return;
        };
        let place = path.span().byte_range();
        for (sign, method) in [("+", "wrapping_add"), ("-", "wrapping_sub")] {
            if self.is_most && sign == "+" {
                continue;
            }
            let pieces = [Piece::text(format!("{name}.{method}(1)"))];
            let new = format!("({name} {sign} 1)");
            let mutant = self.site().replace("constant", place.clone(), place.clone(), &new, &pieces);
            self.found.push(mutant);
        }
    }

    // A reference to a constant lives for ever; one to a mutant would not.
    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if !matches!(*reference.expr, Expr::Lit(_) | Expr::Path(_)) {
            visit::visit_expr_reference(self, reference);
        }
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    // The compiler evaluates these, or they are patterns and types.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}
