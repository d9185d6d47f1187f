//! Whatever bytes come, they are read as `serde_json` reads them, where the two have the same rules.

use super::model::{Choices, model, seed, spell};
use crate::fuzz::json::check as check_json;
use proptest::prelude::*;

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\\ud83d",
        "\\ude00",
        "\\u0000",
        "null",
        "true",
        "false",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E9",
        "1e400",
        "99999",
        " ",
        "\n",
        "\t",
        "\0",
        "\u{1f}",
        "é",
        "\u{feff}",
        "x",
        "/",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn random_bytes_are_read_like_serde_json(
        bytes in prop::collection::vec(any::<u8>(), 0..24)
    ) {
        check_json(&bytes);
    }

    #[test]
    fn random_pieces_are_read_like_serde_json(text in pieces()) {
        check_json(text.as_bytes());
        check_json(format!("[{text}]").as_bytes());
        check_json(format!("\"{text}\"").as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_documents_are_read_like_serde_json(
        value in model(), a in seed(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = spell(&value, &mut Choices(a)).into_bytes();
        let at = at.index(bytes.len());
        check_json(&bytes[..at]);
        bytes[at] = byte;
        check_json(&bytes);
        bytes.remove(at);
        check_json(&bytes);
    }
}
