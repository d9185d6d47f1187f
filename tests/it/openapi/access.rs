//! Who may call what, for every operation of the contract: a new operation is covered by being in it.

use crate::openapi::Operation;
use crate::openapi::operations::Known;
use crate::support::app::{TestApp, new_org};
use crate::support::payments::World;
use ichido::domain::api_key::{ApiKey, RANDOM_LENGTH};
use ichido::domain::org::Mode;
use ichido::domain::scope::Scope;

fn scopes(keep: impl Fn(&str) -> bool) -> Vec<Scope> {
    Scope::ALL.iter().filter(|scope| keep(scope)).filter_map(|scope| Scope::parse(scope)).collect()
}

#[test]
fn every_operation_that_needs_a_key_names_its_scope() {
    let mut guarded = 0;
    for operation in Operation::all() {
        let told = format!("{} {}", operation.method, operation.route);
        assert_eq!(operation.needs_key(), operation.scope().is_some(), "{told}");
        assert_eq!(operation.needs_key(), operation.route.starts_with("/v1/") && !operation.is_signed(), "{told}");
        if let Some(scope) = operation.scope() {
            guarded += 1;
            assert!(Scope::parse(scope).is_some(), "{told} names {scope}");
            let text = operation.definition["description"].as_str().unwrap();
            assert!(text.contains(&format!("Needs the scope `{scope}`")), "{told} does not tell its scope");
            for status in [401, 403] {
                assert!(operation.responses().any(|(documented, _)| documented == status), "{told} {status}");
            }
        }
    }
    assert!(guarded >= 9);
}

#[tokio::test]
async fn a_key_is_asked_for_exactly_where_the_contract_says() {
    let (app, world) = (TestApp::start().await, World::start());
    let known = Known::new(&app, &app.org, &world).await;
    // Well formed, of a key that exists, with another secret.
    let key_id = app.org.token.split('_').nth(2).unwrap();
    let wrong_secret = ApiKey::assemble(Mode::Test, key_id, &"a".repeat(RANDOM_LENGTH)).token();
    for operation in Operation::all() {
        let told = format!("{} {}", operation.method, operation.route);
        let request = || operation.request(&app, &known);
        if !operation.needs_key() {
            let answer = app.send(request(), &operation.route).await;
            assert_eq!(answer.status, 200, "{told} without a key");
            continue;
        }
        let tries = [
            request(),
            request().bearer_auth("ich_test_x_y"),
            request().bearer_auth(&wrong_secret),
            request().header("Authorization", format!("Basic {}", app.org.token)),
            request().header("Authorization", "Bearer"),
            request().bearer_auth(&app.org.token).header("Authorization", format!("Bearer {}", app.org.token)),
        ];
        let before = app.counts().await;
        for (number, request) in tries.into_iter().enumerate() {
            let answer = app.send(request, &operation.route).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"), "{told} {number}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{told} {number}");
        }
        assert_eq!(app.counts().await, before, "{told} did something without a key");
    }
}

#[tokio::test]
async fn the_scope_of_the_contract_is_needed_and_enough() {
    let (app, world) = (TestApp::start().await, World::start());
    let known = Known::new(&app, &app.org, &world).await;
    for operation in Operation::all() {
        let Some(needed) = operation.scope() else { continue };
        let told = format!("{} {}", operation.method, operation.route);
        let without = app.token(app.org.id, &scopes(|scope| scope != needed)).await;
        let before = app.counts().await;
        let refused = app.send(operation.request(&app, &known).bearer_auth(without), &operation.route).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "scope_missing"), "{told}");
        assert_eq!(app.counts().await, before, "{told} did something without its scope");
        let with = app.token(app.org.id, &scopes(|scope| scope == needed)).await;
        let answer = app.send(operation.request(&app, &known).bearer_auth(with), &operation.route).await;
        assert!(answer.status < 300, "{told}: {}", answer.status);
    }
}

#[tokio::test]
async fn what_belongs_to_another_organisation_does_not_exist() {
    let (app, world) = (TestApp::start().await, World::start());
    let other = app.org(new_org()).await;
    let theirs = Known::new(&app, &other, &world).await;
    let id = || uuid::Uuid::now_v7().to_string();
    let (key, order_id, payable_id, case_id) = ("never-seen".to_owned(), id(), id(), id());
    let nobodys = Known { order_id, payable_id, key, case_id, endpoint_id: id(), receipt_id: id() };
    let mut tried = 0;
    for operation in Operation::all().iter().filter(|each| each.needs_key() && each.route.contains('{')) {
        tried += 1;
        let told = format!("{} {}", operation.method, operation.route);
        let mut answers = Vec::new();
        for known in [&theirs, &nobodys] {
            let answer = app.send(operation.request(&app, known).bearer_auth(&app.org.token), &operation.route).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{told}");
            let mut document = answer.json();
            document["request_id"].take();
            answers.push(document);
        }
        assert_eq!(answers[0], answers[1], "{told} tells theirs from nobody's");
        let request = operation.request(&app, &theirs).bearer_auth(&other.token);
        assert!(app.send(request, &operation.route).await.status < 300, "{told}");
    }
    assert!(tried >= 6);
}
