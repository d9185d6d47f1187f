//! Properties of the pure chain from request bytes to fingerprint: reading,
//! canonical form, fingerprint, differing members, and the key beside it.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use ichido::domain::canonical::canonical;
use ichido::domain::differing::{MAX_POINTERS, differing};
use ichido::domain::fingerprint::{Fingerprint, fingerprint};
use ichido::domain::json::{Json, JsonErrorKind, parse};
use ichido::domain::key::IdempotencyKey;
use proptest::prelude::*;

/// A JSON value by its meaning, independent of the code under test.
#[derive(Debug, Clone, PartialEq)]
enum Model {
    Null,
    Bool(bool),
    /// The first times ten to the power of the second, which never makes two equal
    /// numbers differ: the first does not end in 0.
    Number(i64, i32),
    String(String),
    Array(Vec<Model>),
    Object(BTreeMap<String, Model>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        "[ -~]{0,6}",
        prop::collection::vec(any::<char>().prop_filter("no NUL", |c| *c != '\0'), 0..5).prop_map(String::from_iter),
    ]
}

fn model() -> impl Strategy<Value = Model> {
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
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Spells `value` out with arbitrary white space, member order, escapes and number layout.
fn spell(value: &Model, choices: &mut Choices) -> String {
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

fn space(choices: &mut Choices) -> &'static str {
    ["", "", " ", "\n", "\r\n\t"][choices.below(5)]
}

fn spell_string(text: &str, choices: &mut Choices) -> String {
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

fn spell_number(mantissa: i64, exponent: i32, choices: &mut Choices) -> String {
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
fn change(value: &mut Model, n: usize) {
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

fn collect_leaves<'a>(value: &'a mut Model, leaves: &mut Vec<&'a mut Model>) {
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

fn read(value: &Model, seed: u64) -> Json {
    let text = spell(value, &mut Choices(seed));
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} at {}: {text}", error.offset))
}

fn print_of(value: &Json) -> Fingerprint {
    fingerprint("POST", "/v1/orders", None, &canonical(value))
}

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

fn seed() -> impl Strategy<Value = u64> {
    1..u64::MAX
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
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn spelling_does_not_change_the_fingerprint(value in model(), a in seed(), b in seed()) {
        let (first, second) = (read(&value, a), read(&value, b));
        prop_assert_eq!(canonical(&first), canonical(&second));
        prop_assert_eq!(print_of(&first), print_of(&second));
        prop_assert_eq!(differing(&first, &second), Vec::<String>::new());
    }

    #[test]
    fn any_change_gives_another_fingerprint(value in model(), n in any::<usize>(), a in seed()) {
        let mut changed = value.clone();
        change(&mut changed, n);
        let (first, second) = (read(&value, a), read(&changed, a));
        prop_assert_ne!(print_of(&first), print_of(&second));
        let pointers = differing(&first, &second);
        prop_assert_eq!(pointers.len(), 1);
        prop_assert_eq!(pointers, differing(&second, &first));
    }

    #[test]
    fn differing_is_empty_exactly_when_equal(x in model(), y in model(), a in seed()) {
        let (first, second) = (read(&x, a), read(&y, a));
        let pointers = differing(&first, &second);
        prop_assert_eq!(pointers.is_empty(), canonical(&first) == canonical(&second));
        prop_assert_eq!(pointers.is_empty(), x == y);
        prop_assert!(pointers.len() <= MAX_POINTERS);
        prop_assert!(pointers.is_sorted());
        let distinct: HashSet<_> = pointers.iter().collect();
        prop_assert_eq!(distinct.len(), pointers.len());
        prop_assert!(differing(&first, &first).is_empty());
    }

    #[test]
    fn pointers_lead_to_members_that_differ(x in model(), y in model(), a in seed()) {
        let (first, second) = (read(&x, a), read(&y, a));
        let plain = |json: &Json| serde_json::from_str::<serde_json::Value>(&canonical(json));
        // serde_json's own pointer lookup; both absent would be a pointer to nothing.
        let (plain_first, plain_second) = (plain(&first).unwrap(), plain(&second).unwrap());
        for pointer in differing(&first, &second) {
            let found = (plain_first.pointer(&pointer), plain_second.pointer(&pointer));
            prop_assert_ne!(found, (None, None), "{}", pointer);
        }
    }

    #[test]
    fn doubles_are_laid_out_as_in_rfc_8785(bits in any::<u64>(), scale in -330_i32..310) {
        let near = format!("{}e{scale}", bits % 1000).parse::<f64>().unwrap();
        for double in [f64::from_bits(bits), near] {
            prop_assume!(double.is_finite());
            let expected = serde_json_canonicalizer::to_string(&double).unwrap();
            for spelling in [format!("{double:e}"), serde_json::to_string(&double).unwrap()] {
                prop_assert_eq!(canonical(&parse(spelling.as_bytes()).unwrap()), &*expected);
            }
        }
    }

    #[test]
    fn safe_integers_are_laid_out_as_in_rfc_8785(n in -((1_i64 << 53) - 1)..(1 << 53)) {
        let json = parse(n.to_string().as_bytes()).unwrap();
        prop_assert_eq!(canonical(&json), serde_json_canonicalizer::to_string(&n).unwrap());
        let Json::Number(number) = json else { panic!("a number") };
        prop_assert_eq!(number.to_i64(), Some(n));
    }

    #[test]
    fn values_are_laid_out_as_in_rfc_8785(value in model(), a in seed()) {
        // The nearest doubles in their shortest spelling, which is where both agree.
        let text = spell(&value, &mut Choices(a));
        let plain: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rounded = with_numbers(plain, |number| number.as_f64().unwrap().into());
        let ours = canonical(&parse(rounded.to_string().as_bytes()).unwrap());
        prop_assert_eq!(ours, serde_json_canonicalizer::to_string(&rounded).unwrap());
    }

    #[test]
    fn integers_have_an_i64_exactly_when_they_fit(mantissa in any::<i128>(), a in seed()) {
        let shifts = [0, 40, 62, 63, 64, 65, 100];
        let n = mantissa >> shifts[Choices(a).below(shifts.len())];
        for spelling in [n.to_string(), format!("{n}.0"), format!("{n}00e-2"), format!("{n}E0")] {
            let Ok(Json::Number(number)) = parse(spelling.as_bytes()) else { panic!("a number") };
            prop_assert_eq!(number.to_i64(), i64::try_from(n).ok());
        }
        let Ok(Json::Number(number)) = parse(format!("{n}.5").as_bytes()) else { panic!() };
        prop_assert_eq!(number.to_i64(), None);
    }
}

/// `value` with every number replaced by what `change` makes of it.
fn with_numbers(value: serde_json::Value, change: fn(serde_json::Number) -> serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => change(number),
        Value::Array(items) => items.into_iter().map(|i| with_numbers(i, change)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, m)| (name, with_numbers(m, change))).collect(),
        other => other,
    }
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

    #[test]
    fn keys_are_visible_ascii_or_refused(raw in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(key) = IdempotencyKey::parse(&raw) {
            prop_assert!((1..=IdempotencyKey::MAX_LENGTH).contains(&key.as_str().len()));
            prop_assert!(key.as_str().bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        }
    }

    #[test]
    fn every_key_can_be_quoted(text in "[!-~]{1,255}") {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let key = IdempotencyKey::parse(quoted.as_bytes()).unwrap();
        prop_assert_eq!(key.as_str(), &*text);
        if !text.starts_with('"') {
            prop_assert_eq!(IdempotencyKey::parse(text.as_bytes()), Ok(key));
        }
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

    #[test]
    fn queries_are_multisets_of_pairs(
        pairs in prop::collection::vec(("[a-c&=+%é]{0,2}", "[a-c&=+%é]{0,2}"), 0..4), a in seed()
    ) {
        let encode = |text: &str| {
            text.bytes().fold(String::new(), |out, byte| out + &format!("%{byte:02X}"))
        };
        let query = |pairs: &[(String, String)]| {
            let parts: Vec<_> =
                pairs.iter().map(|(n, v)| format!("{}={}", encode(n), encode(v))).collect();
            fingerprint("POST", "/v1/orders", Some(&parts.join("&")), "{}")
        };
        let mut shuffled = pairs.clone();
        let mut choices = Choices(a);
        for last in (1..shuffled.len()).rev() {
            shuffled.swap(last, choices.below(last + 1));
        }
        prop_assert_eq!(query(&pairs), query(&shuffled));
        let mut longer = pairs.clone();
        longer.push((String::new(), String::new()));
        prop_assert_ne!(query(&pairs), query(&longer));
    }
}
