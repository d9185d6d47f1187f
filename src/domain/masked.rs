//! What is kept and hashed of a request must not hold what it is paid with.

use crate::domain::json::Json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Where the payment method is in a request for an order.
pub const IN_ORDER: &[&str] = &["payment", "method"];
/// Where it is in a request to pay an order that exists.
pub const IN_PAYMENT: &[&str] = &["method"];

/// Replaces the text at a path by its SHA-256 in base64url: enough to tell another one from the same. Nothing happens when
/// there is no text there.
pub fn mask(body: &mut Json<'_>, path: &[&str]) {
    match (path.split_first(), body) {
        (None, Json::String(text)) => {
            *text = URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes())).into();
        }
        (Some((first, rest)), Json::Object(members)) => {
            if let Some((_, value)) = members.iter_mut().find(|(name, _)| name == first) {
                mask(value, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::canonical::canonical;
    use crate::domain::json::parse;

    fn masked(text: &str, path: &[&str]) -> String {
        let mut body = parse(text.as_bytes()).unwrap();
        mask(&mut body, path);
        canonical(&body)
    }

    #[test]
    fn the_method_goes_and_all_else_stays() {
        let text = masked(r#"{"a":[1],"payment":{"method":"pm_card_visa"}}"#, IN_ORDER);
        assert!(text.starts_with(r#"{"a":[1],"payment":{"method":""#) && !text.contains("pm_card_visa"), "{text}");
        assert_eq!(text.len(), r#"{"a":[1],"payment":{"method":""}}"#.len() + 43);
        assert!(!masked(r#"{"method":"pm_card_visa"}"#, IN_PAYMENT).contains("visa"));
        assert_ne!(masked(r#"{"method":"a"}"#, IN_PAYMENT), masked(r#"{"method":"b"}"#, IN_PAYMENT));
        for unchanged in [r#"{"payment":null}"#, "[]", r#"{"payment":{"method":1}}"#, r#""x""#] {
            assert_eq!(masked(unchanged, IN_ORDER), unchanged);
        }
    }
}
