//! Cursors: what is read is exactly what was written, and no list reads another's.

use ichido::domain::cursor::{self, Cursor};
use ichido::domain::ids::OrderId;
use ichido::domain::operation_view::OperationCursor;
use uuid::Uuid;

/// The lists whose cursor is an id, by the version their cursors begin with.
const VERSIONS: [&str; 4] = ["o1_", "c1_", "r1_", "e1_"];

/// The input is the cursor; its bytes are a place in a list too.
pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        read(text);
    }
    written(data);
}

fn read(text: &str) {
    let orders = Cursor::decode(text);
    let operations = OperationCursor::decode(text);
    let lists = VERSIONS.map(|version| cursor::decode(version, text));
    let accepted = lists.iter().flatten().count() + usize::from(operations.is_some());
    assert!(accepted <= 1, "two lists read it");
    assert_eq!(orders.map(|place| place.0.0), lists[0]);
    for (version, below) in VERSIONS.iter().zip(lists) {
        if let Some(below) = below {
            assert_eq!(cursor::encode(version, below), text);
        }
    }
    if let Some(place) = operations {
        assert_eq!(place.encode(), text);
    }
}

fn written(data: &[u8]) {
    let mut id = [0; 16];
    let length = data.len().min(id.len());
    id[..length].copy_from_slice(&data[..length]);
    let below = Uuid::from_bytes(id);
    for version in VERSIONS {
        let text = cursor::encode(version, below);
        assert_eq!(cursor::decode(version, &text), Some(below));
        let loud = format!("{version}{}", text[version.len()..].to_ascii_uppercase());
        assert_eq!(cursor::decode(version, &loud).is_some(), loud == text, "one spelling only");
        assert_eq!(cursor::decode(version, &text[..text.len() - 1]), None);
        assert_eq!(cursor::decode(version, &format!("{text}0")), None);
    }
    // Neither part holds U+0000 in the database.
    let rest = String::from_utf8_lossy(&data[length..]).replace('\0', "");
    let (kind, fact) = rest.split_once('|').unwrap_or((&rest, ""));
    let place = OperationCursor { order_id: OrderId(below), kind: kind.to_owned(), fact: fact.to_owned() };
    let text = place.encode();
    assert_eq!(OperationCursor::decode(&text), Some(place));
    assert_eq!(OperationCursor::decode(&text[..text.len() - 1]), None);
    assert_eq!(OperationCursor::decode(&format!("{text}00")), None);
}
