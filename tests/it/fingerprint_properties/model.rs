//! JSON by its meaning, and every way to spell it.

use ichido::domain::json::{Json, parse};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A JSON value by its meaning, independent of the code under test.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    Null,
    Bool(bool),
    /// The first times ten to the power of the second, which never makes two equal
    /// numbers differ: the first does not end in 0.
    Number(i64, i32),
    String(String),
    Array(Vec<Model>),
    Object(BTreeMap<String, Model>),
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        "[ -~]{0,6}",
        prop::collection::vec(any::<char>().prop_filter("no NUL", |c| *c != '\0'), 0..5).prop_map(String::from_iter),
    ]
}

pub fn model() -> impl Strategy<Value = Model> {
    let number = (any::<i64>(), -30_i32..30).prop_map(|(mut mantissa, mut exponent)| {
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        Model::Number(mantissa, if mantissa == 0 { 0 } else { exponent })
    });
    let leaf =
        prop_oneof![Just(Model::Null), any::<bool>().prop_map(Model::Bool), number, text().prop_map(Model::String),];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Model::Array),
            prop::collection::btree_map(text(), inner, 0..5).prop_map(Model::Object),
        ]
    })
}

/// A source of arbitrary choices (xorshift), so that one number fixes one spelling.
pub struct Choices(pub u64);

impl Choices {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Spells `value` out with arbitrary white space, member order, escapes and number layout.
pub fn spell(value: &Model, choices: &mut Choices) -> String {
    let body = match value {
        Model::Null => "null".to_owned(),
        Model::Bool(value) => value.to_string(),
        Model::Number(mantissa, exponent) => spell_number(*mantissa, *exponent, choices),
        Model::String(text) => spell_string(text, choices),
        Model::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| spell(item, choices)).collect();
            format!("[{}{}]", space(choices), items.join(","))
        }
        Model::Object(members) => {
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, member)| {
                    let name = spell_string(name, choices);
                    let gap = space(choices);
                    format!("{gap}{name}{gap}:{}", spell(member, choices))
                })
                .collect();
            for last in (1..members.len()).rev() {
                members.swap(last, choices.below(last + 1));
            }
            format!("{{{}{}}}", space(choices), members.join(","))
        }
    };
    format!("{}{body}{}", space(choices), space(choices))
}

pub fn space(choices: &mut Choices) -> &'static str {
    ["", "", " ", "\n", "\r\n\t"][choices.below(5)]
}

pub fn spell_string(text: &str, choices: &mut Choices) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        if choices.below(3) == 0 {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            let quoted = serde_json::to_string(&character).unwrap();
            out += &quoted[1..quoted.len() - 1];
        }
    }
    out + "\""
}

pub fn spell_number(mantissa: i64, exponent: i32, choices: &mut Choices) -> String {
    let sign = if mantissa < 0 { "-" } else { "" };
    let digits = mantissa.unsigned_abs().to_string() + &"0".repeat(choices.below(4));
    let written = i32::try_from(digits.len()).unwrap();
    let total = i32::try_from(mantissa.unsigned_abs().to_string().len()).unwrap() + exponent;
    let e = ["e", "E"][choices.below(2)];
    match choices.below(3) {
        // 0.00ddd with an exponent, spelled with leading zeros
        0 => {
            let zeros = choices.below(3);
            let shift = total + i32::try_from(zeros).unwrap();
            format!("{sign}0.{}{digits}{e}{shift:+04}", "0".repeat(zeros))
        }
        // d.ddd with an exponent
        1 if digits.len() > 1 => {
            format!("{sign}{}.{}{e}{}", &digits[..1], &digits[1..], total - 1)
        }
        // ddd with an exponent
        1 => format!("{sign}{digits}{e}{}", total - written),
        // without an exponent
        _ if total <= 0 => {
            let zeros = usize::try_from(-total).unwrap();
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
        _ => {
            let total = usize::try_from(total).unwrap();
            let padded = format!("{digits:0<total$}");
            let (whole, fraction) = padded.split_at(total);
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{sign}{whole}{point}{fraction}")
        }
    }
}

/// Changes the `n`th scalar or empty container (modulo their number) to another value.
pub fn change(value: &mut Model, n: usize) {
    let mut leaves = Vec::new();
    collect_leaves(value, &mut leaves);
    let index = n % leaves.len();
    let leaf = leaves.swap_remove(index);
    match leaf {
        Model::Null => *leaf = Model::Bool(false),
        Model::Bool(value) => *value = !*value,
        Model::Number(0, _) => *leaf = Model::Number(1, 0),
        Model::Number(mantissa, _) if n.is_multiple_of(2) => {
            *mantissa = mantissa.checked_neg().unwrap_or(1);
        }
        Model::Number(_, exponent) => *exponent += 1,
        Model::String(text) => text.push('x'),
        Model::Array(items) => items.push(Model::Null),
        Model::Object(members) => {
            members.insert(String::new(), Model::Null);
        }
    }
}

pub fn collect_leaves<'a>(value: &'a mut Model, leaves: &mut Vec<&'a mut Model>) {
    let is_leaf = match value {
        Model::Array(items) => items.is_empty(),
        Model::Object(members) => members.is_empty(),
        _ => true,
    };
    match value {
        leaf if is_leaf => leaves.push(leaf),
        Model::Array(items) => items.iter_mut().for_each(|i| collect_leaves(i, leaves)),
        Model::Object(members) => members.values_mut().for_each(|member| collect_leaves(member, leaves)),
        _ => {}
    }
}

pub fn spelt(value: &Model, seed: u64) -> String {
    spell(value, &mut Choices(seed))
}

pub fn read(text: &str) -> Json<'_> {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} at {}: {text}", error.offset))
}

pub fn seed() -> impl Strategy<Value = u64> {
    1..u64::MAX
}

/// `value` with every number replaced by what `change` makes of it.
pub fn with_numbers(
    value: serde_json::Value,
    change: fn(serde_json::Number) -> serde_json::Value,
) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => change(number),
        Value::Array(items) => items.into_iter().map(|i| with_numbers(i, change)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, m)| (name, with_numbers(m, change))).collect(),
        other => other,
    }
}
