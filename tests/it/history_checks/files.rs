//! What is written is read back, whole or not at all.

use crate::history::line::{Event, Invoke, Op, Said};
use crate::history::reader::{End, History};
use crate::history::writer::Writer;
use std::fs;

fn invoke(key: &str) -> Invoke {
    let (key, request) = (key.to_owned(), "r".to_owned());
    Invoke { client: 3, op: Op::Order, org: 1, key, request, amount: Some(100) }
}

#[test]
fn a_written_history_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let writer = Writer::create(&path).unwrap();
    let (one, two) = (writer.invoke(invoke("k1")), writer.invoke(invoke("k2")));
    let said = Said { status: Some(201), order_id: Some("a".to_owned()), ..Said::default() };
    writer.end(two, Event::Ok(said.clone()));
    writer.end(one, Event::NoAnswer(Said::default()));
    writer.invoke(invoke("k3"));
    writer.finish().unwrap();
    let history = History::read(&path).unwrap();
    let keys: Vec<_> = history.calls.iter().map(|call| (call.invoke.key.as_str(), call.from)).collect();
    assert_eq!(keys, [("k1", 0), ("k2", 1), ("k3", 4)]);
    assert_eq!(history.calls[1].acknowledged(), Some(&said));
    assert!(matches!(history.calls[0].end, Some((3, End::NoAnswer(_)))));
    assert!(history.calls[2].end.is_none(), "a call whose client died");

    let torn = fs::read_to_string(&path).unwrap() + "{\"call\":9,\"at_";
    assert_eq!(History::parse(&torn).unwrap().calls.len(), 3, "a line without its end is left out");
}

#[test]
fn a_history_that_contradicts_itself_is_refused() {
    let line = r#"{"call":1,"at_ms":0,"event":"no_answer"}"#;
    assert!(History::parse(&format!("{line}\n")).unwrap_err().contains("ends without a beginning"));
    let begins = r#"{"call":1,"at_ms":0,"event":"invoke","client":0,"op":"order","org":1,"key":"k","request":"r"}"#;
    assert!(History::parse(&format!("{begins}\n{begins}\n")).unwrap_err().contains("begins twice"));
    assert!(History::parse(&format!("{begins}\n{line}\n{line}\n")).is_err());
    assert!(History::parse("{}\n").unwrap_err().starts_with("line 1"));
    assert_eq!(History::parse(begins).unwrap().calls.len(), 0);
}
