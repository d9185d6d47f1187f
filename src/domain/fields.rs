//! Reads the members of a JSON object and collects what is wrong with them, for [`crate::domain::validate`].

use crate::domain::json::{Json, pointer_push};
use std::borrow::Cow;

/// Where a value is. It is written out only when something is wrong with the value.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    /// The whole body.
    Root,
    /// A member of what is there.
    Member(&'a At<'a>, &'a str),
    /// An element of what is there.
    Element(&'a At<'a>, usize),
}

impl At<'_> {
    /// As an RFC 6901 pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        match self {
            At::Root => String::new(),
            At::Member(parent, name) => {
                let mut pointer = parent.pointer();
                pointer_push(&mut pointer, name);
                pointer
            }
            At::Element(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// RFC 6901 pointer into the body.
    pub pointer: String,
    /// One sentence for the client's developer. Never holds a value from the request.
    pub detail: String,
}

/// What was found wrong so far.
#[derive(Debug, Default)]
pub struct Errors(Vec<FieldError>);

impl Errors {
    /// Notes one more.
    pub fn add(&mut self, at: &At<'_>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: at.pointer(), detail: detail.into() });
    }

    /// Whether nothing was wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors, the first `limit` of them.
    #[must_use]
    pub fn into_list(mut self, limit: usize) -> Vec<FieldError> {
        self.0.truncate(limit);
        self.0
    }

    /// Reads a whole number in a range; `1.0` and `1e0` are whole.
    pub fn integer(&mut self, value: &Json<'_>, at: &At<'_>, min: i64, max: i64) -> Option<i64> {
        let Json::Number(number) = value else {
            self.add(at, format!("must be an integer, not {}", value.kind()));
            return None;
        };
        let integer = number.to_i64().filter(|integer| (min..=max).contains(integer));
        if integer.is_none() {
            self.add(at, format!("must be an integer from {min} to {max}"));
        }
        integer
    }
}

/// The allowed length of a text, in Unicode code points, as JSON Schema counts.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// Fewest code points.
    pub min: usize,
    /// Most code points.
    pub max: usize,
}

impl Text {
    /// Whether `text` has an allowed length.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        // The byte length bounds the count, so the usual short text is not counted twice.
        (self.min..=self.max).contains(&text.chars().take(self.max + 1).count())
    }

    /// Reads a string of an allowed length.
    pub fn read(self, value: &Json<'_>, at: &At<'_>, errors: &mut Errors) -> Option<String> {
        let Json::String(text) = value else {
            errors.add(at, format!("must be a string, not {}", value.kind()));
            return None;
        };
        if self.fits(text) {
            return Some(text.clone().into_owned());
        }
        errors.add(at, format!("must have {} to {} characters", self.min, self.max));
        None
    }
}

/// The members of one object, each asked for once; what nobody asked for is refused at the end.
pub struct Fields<'a> {
    members: &'a [(Cow<'a, str>, Json<'a>)],
    at: &'a At<'a>,
    errors: &'a mut Errors,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Begins to read an object; notes an error when `value` is none.
    pub fn of(value: &'a Json<'a>, at: &'a At<'a>, errors: &'a mut Errors) -> Option<Self> {
        let Json::Object(members) = value else {
            errors.add(at, format!("must be an object, not {}", value.kind()));
            return None;
        };
        Some(Self { members, at, errors, known: Vec::with_capacity(8) })
    }

    /// Reads a member that must be there and not null. `None` after an error was noted.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Json<'_>, &At<'_>, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        let found = self.find(name);
        let at = At::Member(self.at, name);
        if found.is_none() {
            self.errors.add(&at, "is required");
        }
        read(found?, &at, self.errors)
    }

    /// Reads a member that may be absent or null: `Some(None)` then. `None` after an error was noted.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Json<'_>, &At<'_>, &mut Errors) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.find(name) {
            None | Some(Json::Null) => Some(None),
            Some(value) => read(value, &At::Member(self.at, name), self.errors).map(Some),
        }
    }

    /// Notes an error for each member that was not asked for.
    pub fn refuse_others(self) {
        for (name, _) in self.members {
            if !self.known.contains(&name.as_ref()) {
                self.errors.add(&At::Member(self.at, name), "is not a member of this object");
            }
        }
    }

    fn find(&mut self, name: &'static str) -> Option<&'a Json<'a>> {
        self.known.push(name);
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::parse;

    #[test]
    fn a_place_is_written_as_a_pointer() {
        let lines = At::Member(&At::Root, "lines");
        assert_eq!(At::Root.pointer(), "");
        assert_eq!(At::Member(&At::Element(&lines, 12), "a/b~c").pointer(), "/lines/12/a~1b~0c");
        assert_eq!(At::Element(&At::Root, 0).pointer(), "/0");
    }

    #[test]
    fn a_text_is_measured_in_code_points() {
        let text = Text { min: 2, max: 4 };
        for (letters, fits) in [("a", false), ("茶", false), ("ab", true), ("茶茶茶茶", true), ("abcde", false)] {
            assert_eq!(text.fits(letters), fits, "{letters}");
        }
        assert!(!text.fits(&"a".repeat(10_000)) && !text.fits(""));
        assert!(Text { min: 0, max: 0 }.fits("") && !Text { min: 0, max: 0 }.fits("a"));
    }

    #[test]
    fn an_integer_is_read_however_it_is_spelled() {
        for (json, expected) in [("5", Some(5)), ("5.0", Some(5)), ("-20e-1", Some(-2)), ("6", None), ("-3", None)] {
            let mut errors = Errors::default();
            let read = errors.integer(&parse(json.as_bytes()).unwrap(), &At::Root, -2, 5);
            assert_eq!((read, errors.is_empty()), (expected, expected.is_some()), "{json}");
        }
    }

    #[test]
    fn members_are_read_by_name_and_the_rest_is_refused() {
        let body = parse(br#"{"a": "1", "b": null, "c": "3", "d": 4}"#).unwrap();
        let mut errors = Errors::default();
        let mut fields = Fields::of(&body, &At::Root, &mut errors).unwrap();
        let text = |value: &Json<'_>, at: &At<'_>, errors: &mut Errors| Text { min: 1, max: 9 }.read(value, at, errors);
        assert_eq!(fields.required("a", text), Some("1".to_owned()));
        assert_eq!(fields.optional("c", text), Some(Some("3".to_owned())));
        assert_eq!((fields.optional("b", text), fields.optional("e", text)), (Some(None), Some(None)));
        assert_eq!(fields.required("f", text), None);
        fields.refuse_others();
        let wrong: Vec<_> = errors.into_list(9).into_iter().map(|error| (error.pointer, error.detail)).collect();
        let said = [("/f", "is required"), ("/d", "is not a member of this object")];
        assert_eq!(wrong, said.map(|(at, detail)| (at.to_owned(), detail.to_owned())));
    }
}
