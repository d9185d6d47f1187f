//! Reads the repository's files, and tells code from comments and strings.

use std::fs;
use std::path::Path;

/// One file of the repository.
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder whose name ends with `ending`, in order of path.
pub fn files(folder: &str, ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path, ending));
        } else if path.ends_with(ending) {
            found.push(Source { text: fs::read_to_string(entry.path()).unwrap(), path });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Every Rust file that is ours.
pub fn rust_files() -> Vec<Source> {
    ["src", "tests", "benches"].into_iter().flat_map(|folder| files(folder, ".rs")).collect()
}

/// A function's place and length.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// The functions in [`code_of`] a file, those inside others included.
pub fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].chars().take_while(|c| is_word(*c)).collect();
        if name.is_empty() || code[..at].ends_with(is_word) {
            continue;
        }
        if let Some(whole) = first_block(&code[at..]) {
            let line = code[..at].matches('\n').count() + 1;
            found.push(Function { name, line, lines: whole.matches('\n').count() + 1 });
        }
    }
    found
}

/// From the beginning to the end of the first block in braces; `None` when a semicolon comes before it.
fn first_block(code: &str) -> Option<&str> {
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '{' => braces += 1,
            '}' => braces -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            _ => {}
        }
        if c == '}' && braces == 0 {
            return Some(&code[..=at]);
        }
    }
    None
}

/// Whether a character belongs to a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The same lines with every comment, string and character literal blanked.
pub fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let literal = literal_length(rest, code.ends_with(is_word));
        if literal > 0 {
            code.extend(rest[..literal].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[literal..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Bytes of the comment or literal that `rest` begins with; 0 when it begins with code.
fn literal_length(rest: &str, inside_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    if let Some(length) = raw_string_length(rest).filter(|_| !inside_word) {
        return length;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        return 1 + quoted_length(quoted, '"');
    }
    let Some(quoted) = rest.strip_prefix('\'') else {
        return 0;
    };
    let mut next = quoted.chars();
    match (next.next(), next.next()) {
        (Some('\\'), _) => 1 + quoted_length(quoted, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        // A lifetime.
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#`, with or without `b`; not a raw name such as `r#type`.
fn raw_string_length(rest: &str) -> Option<usize> {
    let after_r = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let body = after_r.trim_start_matches('#').strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(after_r.len() - body.len() - 1));
    let before = rest.len() - body.len();
    Some(before + body.find(&end).map_or(body.len(), |at| at + end.len()))
}

/// Up to and with the closing quote.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    rest.len()
}

#[test]
fn comments_and_strings_are_no_code() {
    let text = "a // b {\nc \"d \\\" {\" e r#\"f \" g\"# r#type '\\'' '{' 'h /* i\n} */ j br\"\\\" k";
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&code_of(text)), ["a", "c", "e", "r#type", "'h", "j", "k"]);
    assert_eq!(code_of(text).matches('\n').count(), text.matches('\n').count());
}

#[test]
fn functions_are_measured_from_fn_to_brace() {
    let code = "fn a();\nfn b(x: fn() -> [u8; 2]) {\n    fn c() {}\n}\nstruct S { f: fn (u8) }\nlet afn x = {};\n";
    let function = |name: &str, line, lines| Function { name: name.to_owned(), line, lines };
    assert_eq!(functions(code), [function("b", 2, 3), function("c", 3, 1)]);
}
