//! The `Stripe-Signature` header (<https://docs.stripe.com/webhooks#verify-manually>).

use crate::sim::hash::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// `t=<seconds>,v1=<hex>`: HMAC-SHA256 under the whole secret, `whsec_` included, of the time, a dot and the body.
#[must_use]
pub fn stripe_signature(secret: &[u8], timestamp: i64, body: &[u8]) -> String {
    // HMAC takes keys of every length, so there is always one.
    let digest = Hmac::<Sha256>::new_from_slice(secret).map(|mut mac| {
        mac.update(format!("{timestamp}.").as_bytes());
        mac.update(body);
        hex(&mac.finalize().into_bytes())
    });
    format!("t={timestamp},v1={}", digest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::stripe_signature;

    #[test]
    fn a_known_value() {
        // printf '1492774577.{}' | openssl dgst -sha256 -hmac whsec_test
        let signature = stripe_signature(b"whsec_test", 1_492_774_577, b"{}");
        assert_eq!(signature, "t=1492774577,v1=0d0602f6611bd2252dd4b74b58a4528355a7380639a15e6cc21e3059d56d5b8b");
    }
}
