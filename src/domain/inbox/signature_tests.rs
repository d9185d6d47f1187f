//! What is believed and what is not, header by header.

use super::*;

const NOW: i64 = 1_492_774_577;
/// printf '1492774577.{}' | openssl dgst -sha256 -hmac `whsec_test`
const GOOD: &str = "0d0602f6611bd2252dd4b74b58a4528355a7380639a15e6cc21e3059d56d5b8b";

fn secrets(named: &[(&str, &str)]) -> Vec<Labelled> {
    let labelled =
        |(label, secret): &(&str, &str)| Labelled { label: (*label).to_owned(), secret: SecretString::from(*secret) };
    named.iter().map(labelled).collect()
}

fn verdict(header: &str, body: &[u8], now: i64) -> Verdict {
    verify(Some(header.as_bytes()), body, &secrets(&[("a", "whsec_test")]), now).verdict
}

#[test]
fn a_good_signature_in_any_of_several_is_accepted_and_names_its_secret() {
    let wrong = "00".repeat(32);
    let known = secrets(&[("new", "whsec_new"), ("old", "whsec_test"), ("third", "x"), ("fourth", "y")]);
    for header in [
        format!("t={NOW},v1={GOOD}"),
        format!("t={NOW}, v1={GOOD}"),
        format!(" t = {NOW} ,\tv1 = {GOOD} "),
        format!("v1={GOOD},t={NOW}"),
        format!("t={NOW},v1={wrong},v1={GOOD}"),
        format!("t={NOW},v1={GOOD},v1={wrong},v0=abc"),
        format!("t={NOW},v1=nonsense,v1={}", GOOD.to_uppercase()),
    ] {
        let verified = verify(Some(header.as_bytes()), b"{}", &known, NOW + 7);
        let expected = Verified { verdict: Verdict::Valid, label: Some("old".to_owned()), skew_seconds: Some(7) };
        assert_eq!(verified, expected, "{header}");
    }
}

#[test]
fn the_tolerance_holds_both_ways() {
    let header = format!("t={NOW},v1={GOOD}");
    for (now, expected) in [
        (NOW + 300, Verdict::Valid),
        (NOW - 300, Verdict::Valid),
        (NOW + 301, Verdict::OutOfTolerance),
        (NOW - 301, Verdict::OutOfTolerance),
        (0, Verdict::OutOfTolerance),
        (i64::MIN, Verdict::OutOfTolerance),
    ] {
        assert_eq!(verdict(&header, b"{}", now), expected, "{now}");
    }
}

#[test]
fn what_is_missing_or_cannot_be_read_is_refused() {
    for header in [
        String::new(),
        format!("t={NOW}"),
        format!("v1={GOOD}"),
        format!("t={NOW},v0={GOOD}"),
        format!("t={NOW},t={NOW},v1={GOOD}"),
        format!("t=+{NOW},v1={GOOD}"),
        format!("t=,v1={GOOD}"),
        format!("t=99999999999999999999,v1={GOOD}"),
        format!("t={NOW},v1={}", &GOOD[..62]),
        format!("t={NOW},v1=+{}", &GOOD[1..]),
        format!("t={NOW};v1={GOOD}"),
        "0".to_owned(),
    ] {
        assert_eq!(verdict(&header, b"{}", NOW), Verdict::Malformed, "{header}");
    }
    let header = format!("t={NOW},v1={GOOD}");
    assert_eq!(verify(None, b"{}", &secrets(&[("a", "whsec_test")]), NOW).verdict, Verdict::NoHeader);
    assert_eq!(verify(Some(&[0xff, 0xfe]), b"{}", &secrets(&[("a", "b")]), NOW).verdict, Verdict::Malformed);
    for without in [vec![], secrets(&[("empty", "")])] {
        assert_eq!(verify(Some(header.as_bytes()), b"{}", &without, NOW).verdict, Verdict::NoSecret);
    }
    assert_eq!(verdict(&header, b"{} ", NOW), Verdict::Mismatch);
    assert_eq!(verdict(&header.replace("t=1492774577", "t=1492774578"), b"{}", NOW), Verdict::Mismatch);
    assert_eq!(
        verify(Some(header.as_bytes()), b"{}", &secrets(&[("a", "whsec_other")]), NOW).verdict,
        Verdict::Mismatch
    );
}

#[test]
fn no_more_than_sixteen_signatures_are_looked_at() {
    let wrong = |count: usize| format!(",v1={}", "00".repeat(32)).repeat(count);
    for (before, expected) in
        [(0, Verdict::Valid), (15, Verdict::Valid), (16, Verdict::Mismatch), (40, Verdict::Mismatch)]
    {
        assert_eq!(verdict(&format!("t={NOW}{},v1={GOOD}", wrong(before)), b"{}", NOW), expected, "{before}");
    }
    assert_eq!(verdict(&format!("t={NOW},v1={GOOD}{}", wrong(40)), b"{}", NOW), Verdict::Valid);
}

#[test]
fn how_far_the_clocks_are_apart_is_told_wherever_the_time_can_be_read() {
    let header = format!("t={NOW},v1={GOOD}");
    let told = |secret: &str, now: i64| verify(Some(header.as_bytes()), b"{}", &secrets(&[("a", secret)]), now);
    for (secret, now, verdict, label) in [
        ("whsec_test", NOW - 5, Verdict::Valid, Some("a")),
        ("whsec_test", NOW + 900, Verdict::OutOfTolerance, Some("a")),
        ("whsec_other", NOW + 5, Verdict::Mismatch, None),
        ("", NOW + 5, Verdict::NoSecret, None),
    ] {
        let expected = Verified { verdict, label: label.map(str::to_owned), skew_seconds: Some(now - NOW) };
        assert_eq!(told(secret, now), expected);
    }
    let unread = verify(Some(b"t=x"), b"{}", &secrets(&[("a", "whsec_test")]), NOW);
    assert_eq!(unread, Verified { verdict: Verdict::Malformed, label: None, skew_seconds: None });
}

#[test]
fn a_time_has_at_most_twelve_digits() {
    assert_eq!(verdict(&format!("t={},v1={GOOD}", "9".repeat(12)), b"{}", NOW), Verdict::Mismatch);
    assert_eq!(verdict(&format!("t={},v1={GOOD}", "9".repeat(13)), b"{}", NOW), Verdict::Malformed);
    assert_eq!(verdict(&format!("t=0000{NOW},v1={GOOD}"), b"{}", NOW), Verdict::Malformed);
}
