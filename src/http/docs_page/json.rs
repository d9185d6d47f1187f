//! Pretty JSON with colours, in the order of the file.

use maud::{Markup, PreEscaped, Render};

use super::node::{Node, json_string};

/// `node` as indented JSON.
pub fn pretty(node: &Node) -> Markup {
    print(node, false)
}

/// `node` as indented JSON that may stand between the single quotes of a shell.
pub fn pretty_for_shell(node: &Node) -> Markup {
    print(node, true)
}

fn print(node: &Node, shell: bool) -> Markup {
    let mut printer = Printer { out: String::new(), shell };
    printer.value(node, 0);
    PreEscaped(printer.out)
}

struct Printer {
    out: String,
    shell: bool,
}

impl Printer {
    fn value(&mut self, node: &Node, depth: usize) {
        match node {
            Node::Text(text) => self.token("s", &json_string(text)),
            Node::Number(number) => self.token("n", &number.to_string()),
            Node::Null | Node::Bool(_) => self.token("l", &node.compact()),
            Node::List(list) => {
                self.block(('[', ']'), list, depth, |printer, element| printer.value(element, depth + 1));
            }
            Node::Map(map) => self.block(('{', '}'), map, depth, |printer, (key, value)| {
                printer.token("k", &json_string(key));
                printer.out.push_str(": ");
                printer.value(value, depth + 1);
            }),
        }
    }

    fn block<T>(&mut self, brackets: (char, char), items: &[T], depth: usize, each: impl Fn(&mut Self, &T)) {
        self.out.push(brackets.0);
        for (index, item) in items.iter().enumerate() {
            self.out.push_str(if index == 0 { "\n" } else { ",\n" });
            self.out.push_str(&"  ".repeat(depth + 1));
            each(self, item);
        }
        if !items.is_empty() {
            self.out.push('\n');
            self.out.push_str(&"  ".repeat(depth));
        }
        self.out.push(brackets.1);
    }

    fn token(&mut self, class: &str, text: &str) {
        let text = if self.shell { text.replace('\'', r"'\''") } else { text.to_owned() };
        self.out.push_str("<span class=\"");
        self.out.push_str(class);
        self.out.push_str("\">");
        text.as_str().render_to(&mut self.out);
        self.out.push_str("</span>");
    }
}
