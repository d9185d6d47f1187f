//! Whatever bytes come, they are read as `serde_json` reads them, where the two have the same rules.

use super::model::{Choices, model, seed, spell, with_numbers};
use ichido::domain::canonical::canonical;
use ichido::domain::json::{JsonErrorKind, parse};
use proptest::prelude::*;

/// Whether acceptance agrees with `serde_json`, where the two have the same rules.
fn check_against_serde_json(bytes: &[u8]) {
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    match (parse(bytes), theirs) {
        (Ok(_), Err(error)) => {
            // Doubles have a range, exact numbers do not.
            assert!(error.to_string().starts_with("number out of range"), "{error}");
        }
        (Err(error), Ok(_)) => {
            assert!(!matches!(error.kind, JsonErrorKind::Syntax | JsonErrorKind::InvalidUtf8), "{error:?}");
        }
        (Ok(ours), Ok(theirs)) => {
            let text = canonical(&ours);
            // Numbers aside, which serde_json rounds: the same structure and strings.
            let same = serde_json::from_str(&text).unwrap();
            let blank = |value| with_numbers(value, |_| 0.into());
            assert_eq!(blank(same), blank(theirs));
            match parse(text.as_bytes()) {
                Ok(again) => assert_eq!(canonical(&again), text),
                // `10e9999` has a canonical exponent of five digits.
                Err(error) => assert_eq!(error.kind, JsonErrorKind::NumberTooLong),
            }
        }
        (Err(error), Err(_)) => assert!(error.offset <= bytes.len()),
    }
}

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
        check_against_serde_json(&bytes);
    }

    #[test]
    fn random_pieces_are_read_like_serde_json(text in pieces()) {
        check_against_serde_json(text.as_bytes());
        check_against_serde_json(format!("[{text}]").as_bytes());
        check_against_serde_json(format!("\"{text}\"").as_bytes());
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
        check_against_serde_json(&bytes[..at]);
        bytes[at] = byte;
        check_against_serde_json(&bytes);
        bytes.remove(at);
        check_against_serde_json(&bytes);
    }
}
