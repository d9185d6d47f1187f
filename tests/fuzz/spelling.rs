//! Other spellings of a JSON value, and the same with one thing in it changed.

use super::choices::Choices;
use ichido::domain::canonical::canonical;
use ichido::domain::json::{Json, Number, parse};
use std::fmt::Write as _;

/// Spells `value` out with its members in another order, and other white space, escapes and layouts of numbers.
pub fn respelt(value: &Json<'_>, choices: &mut Choices) -> String {
    let mut writer = Writer { choices, change_at: None, seen: 0 };
    writer.value(value)
}

/// The same with one scalar or empty container, the `nth`, replaced by another value.
pub fn changed(value: &Json<'_>, choices: &mut Choices, nth: usize) -> String {
    let mut writer = Writer { choices, change_at: Some(nth), seen: 0 };
    writer.value(value)
}

/// Scalars and empty containers in a value.
pub fn leaves(value: &Json<'_>) -> usize {
    match value {
        Json::Array(items) if !items.is_empty() => items.iter().map(leaves).sum(),
        Json::Object(members) if !members.is_empty() => members.iter().map(|(_, member)| leaves(member)).sum(),
        _ => 1,
    }
}

struct Writer<'a> {
    choices: &'a mut Choices,
    change_at: Option<usize>,
    /// Leaves written so far.
    seen: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Json<'_>) -> String {
        let body = match value {
            Json::Array(items) if !items.is_empty() => {
                let items: Vec<_> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}]", items.join(","))
            }
            Json::Object(members) if !members.is_empty() => {
                let mut members: Vec<_> = members.iter().map(|(name, member)| self.member(name, member)).collect();
                self.choices.shuffle(&mut members);
                format!("{{{}}}", members.join(","))
            }
            leaf => {
                self.seen += 1;
                if self.change_at == Some(self.seen - 1) { self.another(leaf) } else { self.leaf(leaf) }
            }
        };
        let (before, after) = (self.space(), self.space());
        format!("{before}{body}{after}")
    }

    fn member(&mut self, name: &str, member: &Json<'_>) -> String {
        let (before, name, after) = (self.space(), self.string(name), self.space());
        format!("{before}{name}{after}:{}", self.value(member))
    }

    fn leaf(&mut self, value: &Json<'_>) -> String {
        match value {
            Json::String(text) => self.string(text),
            Json::Number(number) => self.number(number),
            other => canonical(other),
        }
    }

    fn another(&mut self, value: &Json<'_>) -> String {
        match value {
            Json::Null => "false".to_owned(),
            Json::Bool(value) => (!value).to_string(),
            Json::String(text) => {
                let more = [format!("{text}x"), format!("\u{e9}{text}"), format!("{text} ")];
                let nth = self.choices.below(more.len());
                self.string(&more[nth])
            }
            Json::Array(_) => "[null]".to_owned(),
            Json::Object(_) => "{\"\":null}".to_owned(),
            Json::Number(number) => another_number(&canonical(&Json::Number(number.clone()))),
        }
    }

    fn number(&mut self, number: &Number<'_>) -> String {
        let text = canonical(&Json::Number(number.clone()));
        let zeros = &"000"[self.choices.below(4)..];
        let other = match (text.split_once('e'), text.contains('.')) {
            // The canonical layout writes the exponent's sign.
            (Some((mantissa, exponent)), _) => format!("{mantissa}E{}{zeros}{}", &exponent[..1], &exponent[1..]),
            (None, true) => format!("{text}{zeros}e-{zeros}0"),
            (None, false) if self.choices.below(2) == 0 => format!("{text}.0{zeros}"),
            (None, false) => format!("{text}{zeros}e-{}", zeros.len()),
        };
        if parse(other.as_bytes()).is_ok() { other } else { text }
    }

    fn string(&mut self, text: &str) -> String {
        let mut out = String::from("\"");
        for letter in text.chars() {
            if self.choices.below(4) == 0 {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").unwrap();
                }
            } else {
                let quoted = serde_json::to_string(&letter).unwrap();
                out += &quoted[1..quoted.len() - 1];
            }
        }
        out + "\""
    }

    fn space(&mut self) -> &'static str {
        ["", "", "", " ", "\n", "\r\n\t"][self.choices.below(6)]
    }
}

/// A number just beside one, or any other where that has too many digits.
fn another_number(text: &str) -> String {
    let (mantissa, exponent) = text.find('e').map_or((text, ""), |at| text.split_at(at));
    let more = if mantissa.contains('.') { "0000001" } else { ".0000001" };
    let near = format!("{mantissa}{more}{exponent}");
    if parse(near.as_bytes()).is_ok() { near } else { "7".to_owned() }
}
