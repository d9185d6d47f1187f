//! I6: histories of one key, line by line.

use crate::history::line::{Event, Op, Said};
use crate::history_checks::books::{Books, refused, said};

const KEY: &str = "order-0";

/// What happens at one line: a call is sent with a request, or ends.
enum Moment {
    /// Call, request.
    Sends(usize, &'static str),
    /// The same, of a call that changes an order.
    Changes(usize, &'static str),
    /// The answer of a call.
    Hears(usize, Event),
}

use Moment::{Changes, Hears, Sends};

fn created() -> Event {
    Event::Ok(said(201, "a", "bytes"))
}

fn replayed() -> Event {
    Event::Ok(said(200, "a", "bytes"))
}

fn in_flight() -> Event {
    Event::Fail(refused(409, "request_in_flight"))
}

fn accepted() -> Event {
    Event::NoAnswer(Said { answer: Some("as it stands".to_owned()), ..said(202, "a", "") })
}

fn reused() -> Event {
    Event::Fail(refused(422, "idempotency_key_reused"))
}

fn nothing() -> Event {
    Event::NoAnswer(Said::default())
}

fn not_done() -> Event {
    Event::Fail(refused(503, "unavailable"))
}

/// Whether I6 is named.
fn is_named(moments: Vec<Moment>) -> bool {
    let mut books = Books::empty();
    let mut calls = Vec::new();
    for moment in moments {
        match moment {
            Sends(place, request) => {
                assert_eq!(place, calls.len());
                calls.push(books.sends(1, Op::Order, KEY, request));
            }
            Changes(place, request) => {
                assert_eq!(place, calls.len());
                calls.push(books.sends(1, Op::Change, KEY, request));
            }
            Hears(place, event) => books.hears(calls[place], event),
        }
    }
    books.violated().contains("I6")
}

#[test]
fn these_can_have_happened() {
    let good: Vec<(&str, Vec<Moment>)> = vec![
        (
            "a first answer and its replay",
            vec![Sends(0, "r"), Hears(0, created()), Sends(1, "r"), Hears(1, replayed())],
        ),
        (
            "a lost answer, then its replay",
            vec![Sends(0, "r"), Hears(0, nothing()), Sends(1, "r"), Hears(1, replayed())],
        ),
        (
            "a call that never ends, and takes effect later",
            vec![Sends(0, "r"), Sends(1, "r"), Hears(1, in_flight()), Sends(2, "r"), Hears(2, replayed())],
        ),
        ("two at once", vec![Sends(0, "r"), Sends(1, "r"), Hears(1, replayed()), Hears(0, created())]),
        (
            "in flight, settled by a worker, replayed",
            vec![
                Sends(0, "r"),
                Hears(0, accepted()),
                Sends(1, "r"),
                Hears(1, accepted()),
                Sends(2, "r"),
                Hears(2, replayed()),
            ],
        ),
        (
            "in flight beside the first answer",
            vec![Sends(0, "r"), Sends(1, "r"), Hears(0, created()), Hears(1, in_flight())],
        ),
        (
            "another request, before the key is answered",
            vec![Sends(0, "r"), Sends(1, "s"), Hears(1, reused()), Hears(0, created())],
        ),
        (
            "a lost claim beats the next request",
            vec![Sends(0, "s"), Hears(0, nothing()), Sends(1, "r"), Hears(1, reused())],
        ),
        (
            "a lost claim of another request that never happened",
            vec![Sends(0, "s"), Hears(0, nothing()), Sends(1, "r"), Hears(1, created())],
        ),
        ("not done, then made", vec![Sends(0, "r"), Hears(0, not_done()), Sends(1, "r"), Hears(1, created())]),
    ];
    for (name, moments) in good {
        assert!(!is_named(moments), "{name}");
    }
}

#[test]
fn a_change_is_answered_with_200_at_first_too_and_may_wait_for_other_work_on_its_order() {
    let changed = || Event::Ok(said(200, "a", "c"));
    for last in [changed(), in_flight()] {
        assert!(!is_named(vec![Changes(0, "c"), Hears(0, changed()), Changes(1, "c"), Hears(1, last)]));
    }
}

#[test]
fn these_cannot_have_happened() {
    let bad: Vec<(&str, Vec<Moment>)> = vec![
        ("a replay of what nobody has made", vec![Sends(0, "r"), Hears(0, replayed())]),
        (
            "a replay of what surely was not done",
            vec![Sends(0, "r"), Hears(0, not_done()), Sends(1, "r"), Hears(1, replayed())],
        ),
        (
            "a replay that was over before its maker began",
            vec![Sends(0, "r"), Hears(0, replayed()), Sends(1, "r"), Hears(1, created())],
        ),
        (
            "settled, and later unsettled",
            vec![Sends(0, "r"), Hears(0, created()), Sends(1, "r"), Hears(1, in_flight())],
        ),
        (
            "replayed, and later open",
            vec![
                Sends(0, "r"),
                Hears(0, nothing()),
                Sends(1, "r"),
                Hears(1, replayed()),
                Sends(2, "r"),
                Hears(2, accepted()),
            ],
        ),
        (
            "two different orders",
            vec![Sends(0, "r"), Hears(0, created()), Sends(1, "r"), Hears(1, Event::Ok(said(201, "b", "others")))],
        ),
        (
            "two different requests, both made",
            vec![Sends(0, "r"), Hears(0, created()), Sends(1, "s"), Hears(1, Event::Ok(said(201, "a", "bytes")))],
        ),
        ("a request refused by itself", vec![Sends(0, "r"), Hears(0, created()), Sends(1, "r"), Hears(1, reused())]),
        ("reused, and nobody else used it", vec![Sends(0, "r"), Hears(0, reused())]),
        (
            "reused, before anybody else began",
            vec![Sends(0, "r"), Hears(0, reused()), Sends(1, "s"), Hears(1, created())],
        ),
        (
            "the key was another's already, and is given to the next",
            vec![
                Sends(0, "r"),
                Hears(0, nothing()),
                Sends(1, "s"),
                Hears(1, reused()),
                Sends(2, "s"),
                Hears(2, created()),
            ],
        ),
    ];
    for (name, moments) in bad {
        assert!(is_named(moments), "{name}");
    }
}

#[test]
fn a_key_that_many_use_at_once_is_judged_by_the_rule() {
    let storm = |last: Event| {
        let mut moments: Vec<_> = (0..64).map(|place| Sends(place, "r")).collect();
        moments.push(Hears(7, created()));
        moments.extend(
            (0..64)
                .filter(|place| *place != 7)
                .map(|place| Hears(place, if place % 2 == 0 { replayed() } else { in_flight() })),
        );
        moments.extend([Sends(64, "r"), Hears(64, last)]);
        moments
    };
    assert!(!is_named(storm(replayed())), "all at once, and a replay later");
    assert!(is_named(storm(in_flight())), "one finds it unsettled after the storm");
}
