//! `GET /v1/orders/{order_id}`. Lists are in [`crate::order_list`].

use crate::support::app::{Answer, TestApp, order_body};
use crate::support::bodies::{with, with_lines};
use reqwest::Method;
use serde_json::json;

const ROUTE: &str = "/v1/orders/{order_id}";

/// Gets an order with these `If-None-Match` lines.
async fn get_if(app: &TestApp, id: &str, tags: &[&str]) -> Answer {
    let request = app.request(Method::GET, &format!("/v1/orders/{id}")).bearer_auth(&app.org.token);
    let request = tags.iter().fold(request, |request, tag| request.header("If-None-Match", *tag));
    app.send(request, ROUTE).await
}

#[tokio::test]
async fn an_order_reads_as_it_was_answered() {
    let app = TestApp::start().await;
    let mut full = with("/order_reference", json!("PO-1"));
    full["metadata"] = json!({ "b": "2", "a": "1", "\u{1f375}": "é", "": "" });
    full["metadata"].as_object_mut().unwrap().remove("");
    for (key, body) in [("full", full), ("long", with_lines(500))] {
        let created = app.post(key, &body).await;
        let read = app.get(&format!("/v1/orders/{}", created.id()), ROUTE).await;
        assert_eq!((read.status, &read.body), (200, &created.body));
        assert_eq!(read.header("etag"), created.header("etag"));
        assert_eq!(read.header("content-type"), created.header("content-type"));
    }
}

#[tokio::test]
async fn a_known_tag_is_304_without_a_body() {
    let app = TestApp::start().await;
    let created = app.post("K", &order_body()).await;
    let (id, tag) = (created.id(), created.header("etag").unwrap());
    let (weak, list) = (format!("W/{tag}"), format!("\"x\", {tag} ,\"y\""));
    for tags in [&[tag][..], &[&weak], &[&list], &["*"], &["\"x\"", tag], &["\"x\"", "W/\"y\"", &weak]] {
        let answer = get_if(&app, &id, tags).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{tags:?}");
        assert_eq!(answer.header("etag"), Some(tag));
    }
    let bare = tag.trim_matches('"');
    for tags in [&[][..], &["\"x\""], &[bare], &["w/*"], &[""], &["\"*\""]] {
        let answer = get_if(&app, &id, tags).await;
        assert_eq!((answer.status, &answer.body), (200, &created.body), "{tags:?}");
    }
}

#[tokio::test]
async fn a_changed_order_has_another_tag() {
    let app = TestApp::start().await;
    let created = app.post("K", &order_body()).await;
    let (id, old) = (created.id(), created.header("etag").unwrap());
    let change = "UPDATE orders SET status = 'confirmed', version = version + 1";
    app.sql().await.execute(change, &[]).await.unwrap();
    let read = get_if(&app, &id, &[old]).await;
    assert_eq!((read.status, &read.json()["status"]), (200, &json!("confirmed")));
    let new = read.header("etag").unwrap();
    assert_ne!(new, old);
    assert_eq!(get_if(&app, &id, &[new]).await.status, 304);
}

#[tokio::test]
async fn two_orders_never_share_a_tag() {
    let app = TestApp::start().await;
    let (a, b) = (app.post("A", &order_body()).await, app.post("B", &order_body()).await);
    assert_ne!(a.header("etag"), b.header("etag"));
    assert_eq!(get_if(&app, &b.id(), &[a.header("etag").unwrap()]).await.status, 200);
}

#[tokio::test]
async fn what_is_no_order_is_404_and_always_the_same_answer() {
    let app = TestApp::start().await;
    let id = app.post("K", &order_body()).await.id();
    let bare = id.replace('-', "");
    let (cut, long, braced) = (&id[..35], format!("{id}0"), format!("%7B{id}%7D"));
    let missing = "01890000-0000-7000-8000-000000000000";
    let mut seen = Vec::new();
    for path in [missing, "x", "1", "%00", "%FF", "..%2F", "%27", bare.as_str(), cut, &long, &braced] {
        let answer = app.get(&format!("/v1/orders/{path}"), ROUTE).await;
        let mut problem = answer.json();
        problem.as_object_mut().unwrap().remove("request_id");
        seen.push((answer.status, problem));
    }
    assert_eq!((seen[0].0, &seen[0].1["code"]), (404, &json!("not_found")));
    for each in &seen {
        assert_eq!(each, &seen[0]);
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let app = TestApp::start().await;
    let created = app.post("K", &order_body()).await;
    let path = format!("/v1/orders/{}", created.id());
    let head = app.send(app.request(Method::HEAD, &path).bearer_auth(&app.org.token), ROUTE).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("etag"), created.header("etag"));
    assert_eq!(head.header("content-length"), Some(created.body.len().to_string().as_str()));
    let missing = app.send(app.request(Method::HEAD, "/v1/orders/x").bearer_auth(&app.org.token), ROUTE).await;
    assert_eq!((missing.status, missing.body.len()), (404, 0));
}
