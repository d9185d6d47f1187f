//! Properties of the pure chain from request bytes to fingerprint: reading,
//! canonical form, fingerprint, differing members, and the key beside it.

mod model;
mod reading;

use std::collections::HashSet;

use ichido::domain::canonical::canonical;
use ichido::domain::differing::{MAX_POINTERS, differing};
use ichido::domain::fingerprint::{Fingerprint, fingerprint};
use ichido::domain::json::{Json, parse};
use ichido::domain::key::IdempotencyKey;
use model::{Choices, change, model, read, seed, spell, spelt, with_numbers};
use proptest::prelude::*;

fn print_of(value: &Json) -> Fingerprint {
    fingerprint("POST", "/v1/orders", None, &canonical(value))
}

/// A number's significant digits.
fn digits(spelling: &str) -> String {
    let mantissa = spelling.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn spelling_does_not_change_the_fingerprint(value in model(), a in seed(), b in seed()) {
        let (first, second) = (spelt(&value, a), spelt(&value, b));
        let (first, second) = (read(&first), read(&second));
        prop_assert_eq!(canonical(&first), canonical(&second));
        prop_assert_eq!(print_of(&first), print_of(&second));
        prop_assert_eq!(differing(&first, &second), Vec::<String>::new());
    }

    #[test]
    fn any_change_gives_another_fingerprint(value in model(), n in any::<usize>(), a in seed()) {
        let mut changed = value.clone();
        change(&mut changed, n);
        let (first, second) = (spelt(&value, a), spelt(&changed, a));
        let (first, second) = (read(&first), read(&second));
        prop_assert_ne!(print_of(&first), print_of(&second));
        let pointers = differing(&first, &second);
        prop_assert_eq!(pointers.len(), 1);
        prop_assert_eq!(pointers, differing(&second, &first));
    }

    #[test]
    fn differing_is_empty_exactly_when_equal(x in model(), y in model(), a in seed()) {
        let (first, second) = (spelt(&x, a), spelt(&y, a));
        let (first, second) = (read(&first), read(&second));
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
        let (first, second) = (spelt(&x, a), spelt(&y, a));
        let (first, second) = (read(&first), read(&second));
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
            prop_assert_eq!(canonical(&parse(expected.as_bytes()).unwrap()), &*expected);
            for spelling in [format!("{double:e}"), serde_json::to_string(&double).unwrap()] {
                // A few doubles lie between two shortest spellings, and the libraries choose differently.
                if digits(&spelling) == digits(&expected) {
                    prop_assert_eq!(canonical(&parse(spelling.as_bytes()).unwrap()), &*expected);
                }
            }
        }
    }

    #[test]
    fn safe_integers_are_laid_out_as_in_rfc_8785(n in -((1_i64 << 53) - 1)..(1 << 53)) {
        let text = n.to_string();
        let json = parse(text.as_bytes()).unwrap();
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
        let fraction = format!("{n}.5");
        let Ok(Json::Number(number)) = parse(fraction.as_bytes()) else { panic!() };
        prop_assert_eq!(number.to_i64(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

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
