//! The strict reader behind [`parse`](super::parse): one pass, recursion bounded by
//! [`MAX_DEPTH`].
//!
//! Pointers cost nothing while all goes well: each level adds its own token to an
//! error on the way out.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Json, JsonError, JsonErrorKind, MAX_DEPTH, Number};

/// Reads exactly one value from `text`. An error caused by the end of the text has
/// the text's length as its offset.
pub(super) fn read(text: &str) -> Result<Json<'_>, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_whitespace();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.error(JsonErrorKind::Syntax)),
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Offset of the next byte to read.
    at: usize,
}

impl<'a> Reader<'a> {
    /// `depth` is the number of arrays and objects around the value.
    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.skip_whitespace();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.literal(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.open(depth)?;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        let mut seen = HashSet::new();
        loop {
            self.skip_whitespace();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error(JsonErrorKind::Syntax));
            }
            let name = self.string()?;
            let is_new = is_new(&members, &mut seen, &name);
            let value = if is_new {
                self.member_value(depth + 1)
            } else {
                Err(error_at(start, JsonErrorKind::DuplicateMember))
            };
            let value = value.map_err(|error| error.within(&name))?;
            members.push((name, value));
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            self.expect(b',')?;
        }
    }

    fn member_value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.expect(b':')?;
        self.value(depth)
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.open(depth)?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            let item = self.value(depth + 1);
            items.push(item.map_err(|error| error.within(&items.len().to_string()))?);
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            self.expect(b',')?;
        }
    }

    /// Reads a string token; the reader stands on its opening quote.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    // Which escapes are valid is decided below; here only the end
                    // of the token matters, and `\"` is not it.
                    self.at += 1;
                    if self.peek().is_none() {
                        return Err(self.error(JsonErrorKind::Syntax));
                    }
                }
                Some(0) => return Err(self.error(JsonErrorKind::NulCharacter)),
                Some(0x01..=0x1F) | None => return Err(self.error(JsonErrorKind::Syntax)),
                Some(_) => {}
            }
            self.at += 1;
        }
        self.at += 1;
        if !escaped {
            return Ok(Cow::Borrowed(self.slice(start + 1, self.at - 1)?));
        }
        let text: String =
            serde_json::from_str(self.slice(start, self.at)?).map_err(|_| error_at(start, JsonErrorKind::Syntax))?;
        if text.contains('\0') {
            return Err(error_at(start, JsonErrorKind::NulCharacter));
        }
        Ok(Cow::Owned(text))
    }

    fn number(&mut self) -> Result<Json<'a>, JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        Number::parse(self.slice(start, self.at)?).map(Json::Number).map_err(|kind| error_at(start, kind))
    }

    fn literal(&mut self) -> Result<Json<'a>, JsonError> {
        let rest = self.slice(self.at, self.text.len())?;
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error(JsonErrorKind::Syntax))
    }

    /// Steps over an opening bracket, unless it would nest too deeply.
    fn open(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(JsonErrorKind::TooDeep));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether `byte` comes next after white space; steps over it if so.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_whitespace();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.error(JsonErrorKind::Syntax))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Tokens begin and end at ASCII bytes, so the error is never seen; it stands
    /// in for the panic of an index.
    fn slice(&self, from: usize, to: usize) -> Result<&'a str, JsonError> {
        let slice = self.text.get(from..to);
        slice.ok_or_else(|| error_at(from, JsonErrorKind::Syntax))
    }

    fn error(&self, kind: JsonErrorKind) -> JsonError {
        error_at(self.at, kind)
    }
}

/// Members that are compared one by one with the next, which for so few is faster than hashing.
const FEW: usize = 16;

/// Whether no member has this name yet. Many are hashed, because comparing each name with all before it is quadratic.
fn is_new<'a>(members: &[(Cow<'a, str>, Json<'a>)], seen: &mut HashSet<Cow<'a, str>>, name: &str) -> bool {
    if members.len() < FEW {
        return members.iter().all(|(other, _)| other != name);
    }
    let unseen = members.get(seen.len()..).unwrap_or_default();
    seen.extend(unseen.iter().map(|(other, _)| other.clone()));
    !seen.contains(name)
}

fn error_at(offset: usize, kind: JsonErrorKind) -> JsonError {
    JsonError { pointer: String::new(), offset, kind }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
