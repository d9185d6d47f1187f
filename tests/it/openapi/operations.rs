//! Every operation does what its document shows, really sent.

use crate::inbox::endpoint::{Endpoint, SECRET, now};
use crate::openapi::Operation;
use crate::support::app::{Answer, TestApp, TestOrg, order_body};
use crate::support::contract::{OPENAPI, resolve};
use crate::support::payments::{World, open_case, start, use_gateway};
use ichido::sim::signature::stripe_signature;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

/// What stands in the place of a path's parameters: an unpaid order of an organisation, its key, a case, a problem.
pub struct Known {
    /// An order's id.
    pub order_id: String,
    /// The key it was made with.
    pub key: String,
    /// An order that nothing else is done to.
    pub payable_id: String,
    /// A case about another order.
    pub case_id: String,
    /// A webhook endpoint.
    pub endpoint_id: String,
    /// A delivery that came to it.
    pub receipt_id: String,
}

impl Known {
    /// Makes them in an organisation, and a world the organisation's gateway.
    pub async fn new(app: &TestApp, org: &TestOrg, world: &World) -> Self {
        use_gateway(&app.app, org, &world.stripe()).await;
        let key = uuid::Uuid::now_v7().to_string();
        let order_id = app.post_as(&org.token, &key, &order_body()).await.id();
        let another = async || app.post_as(&org.token, &uuid::Uuid::now_v7().to_string(), &order_body()).await.id();
        let case_id = open_case(&app.sql().await, org, &another().await).await;
        let endpoint = Endpoint::of_org(app, org).await;
        let receipt = endpoint.signed(app, b"{}").await.json();
        Self {
            order_id,
            key,
            payable_id: another().await,
            case_id,
            endpoint_id: endpoint.id.to_string(),
            receipt_id: receipt["receipt_id"].as_str().unwrap().to_owned(),
        }
    }
}

impl Operation {
    /// The request as the contract describes it, without a key. A parameter that the tests do not know has to be added here.
    pub fn request(&self, app: &TestApp, known: &Known) -> RequestBuilder {
        let order_id = if self.route.ends_with("/payments") { &known.payable_id } else { &known.order_id };
        let path = self.route.replace("{order_id}", order_id).replace("{idempotency_key}", &known.key);
        let path = path.replace("{case_id}", &known.case_id).replace("{code}", "order_reference_taken");
        let path = path.replace("{endpoint_id}", &known.endpoint_id).replace("{receipt_id}", &known.receipt_id);
        assert!(!path.contains('{'), "no value is known for {path}");
        let mut request = app.request(Method::from_bytes(self.method.as_bytes()).unwrap(), &path);
        for parameter in self.definition["parameters"].as_array().into_iter().flatten().map(resolve) {
            if parameter["in"] == "header" && parameter["required"] == true {
                assert_eq!(parameter["name"], "Idempotency-Key");
                request = request.header("Idempotency-Key", uuid::Uuid::now_v7().to_string());
            }
        }
        match self.body_examples().first() {
            Some((_, body)) if self.is_signed() => {
                let body = body.to_string();
                let signature = stripe_signature(SECRET.as_bytes(), now(), body.as_bytes());
                request.header("Content-Type", "application/json").header("Stripe-Signature", signature).body(body)
            }
            Some((_, body)) => request.header("Content-Type", "application/json").body(body.to_string()),
            None => request,
        }
    }

    /// The examples of its body, by name.
    pub fn body_examples(&self) -> Vec<(&'static str, &'static Value)> {
        let examples = &self.definition["requestBody"]["content"]["application/json"]["examples"];
        let examples = examples.as_object().into_iter().flatten();
        examples.map(|(name, example)| (name.as_str(), &example["value"])).collect()
    }
}

#[tokio::test]
async fn every_operation_succeeds_as_documented() {
    let (app, world) = (TestApp::start().await, World::start());
    let known = Known::new(&app, &app.org, &world).await;
    for operation in Operation::all() {
        let mut request = operation.request(&app, &known);
        if operation.needs_key() {
            request = request.bearer_auth(&app.org.token);
        }
        let answer = app.send(request, &operation.route).await;
        assert!((200..300).contains(&answer.status), "{} {} {answer:?}", operation.method, operation.route);
    }
}

#[tokio::test]
async fn every_media_type_of_an_answer_can_be_asked_for() {
    let (app, world) = (TestApp::start().await, World::start());
    let known = Known::new(&app, &app.org, &world).await;
    for operation in Operation::all().into_iter().filter(|operation| operation.method == "GET") {
        let (_, response) = operation.responses().find(|(status, _)| *status == 200).unwrap();
        for media in response["content"].as_object().unwrap().keys() {
            let request = operation.request(&app, &known).bearer_auth(&app.org.token).header("Accept", media);
            let answer = app.send(request, &operation.route).await;
            let got = answer.header("content-type").unwrap();
            assert_eq!(got.split(';').next(), Some(media.as_str()), "{}", operation.route);
        }
    }
}

#[tokio::test]
async fn every_example_of_an_order_is_accepted_and_answered_as_shown() {
    let (app, _world) = start().await;
    let create = Operation::all().into_iter().find(|each| each.definition["operationId"] == "create_order").unwrap();
    let shown = &OPENAPI["paths"]["/v1/orders"]["post"]["responses"]["201"]["content"]["application/json"]["examples"];
    let examples = create.body_examples();
    assert!(examples.len() >= 2);
    for (name, body) in examples {
        let first = app.post(name, body).await;
        assert_eq!(first.status, 201, "{name}");
        assert_eq!(without_moments(&first.json()), without_moments(&resolve(&shown[name])["value"]), "{name}");
        assert_eq!(app.post(name, body).await.body, first.body, "{name}");
    }
}

/// An order without what is different each time.
fn without_moments(order: &Value) -> Value {
    let mut order = order.clone();
    for name in ["id", "created_at", "updated_at"] {
        assert!(order[name].take().is_string(), "{name}");
    }
    if order["payment"].is_object() {
        assert!(order["payment"]["gateway_reference"].take().is_string());
    }
    order
}

#[tokio::test]
async fn the_first_call_of_the_introduction_works() {
    let app = TestApp::start().await;
    let text = OPENAPI["info"]["description"].as_str().unwrap();
    let header = |name: &str| text.split_once(&format!("\"{name}: ")).unwrap().1.split('"').next().unwrap();
    let body = text.split_once("-d '").unwrap().1.split('\'').next().unwrap();
    let send = || async {
        let request = app.request(Method::POST, "/v1/orders").bearer_auth(&app.org.token);
        let request = request.header("Idempotency-Key", header("Idempotency-Key"));
        app.send(request.header("Content-Type", header("Content-Type")).body(body), "/v1/orders").await
    };
    let (first, second): (Answer, Answer) = (send().await, send().await);
    assert_eq!((first.status, second.status, first.body == second.body), (201, 200, true));
}

/// A body that the schema refuses is refused, and one that it allows is accepted, but for what no schema can say: sums.
#[tokio::test]
async fn the_schema_of_a_new_order_and_the_server_agree() {
    let (app, _world) = start().await;
    let schema = json!({ "$ref": "#/components/schemas/NewOrder", "components": OPENAPI["components"] });
    let schema = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap();
    let long = |length| Value::from("x".repeat(length));
    let notes = |count: usize, key: usize, value: usize| {
        let note = |n: usize| (format!("{n:0key$}"), long(value));
        Value::Object((0..count).map(note).collect())
    };
    let changes = [
        ("/order_reference", vec![json!(null), json!(""), long(64), long(65), json!(1), json!("a\u{0}b")]),
        ("/customer", vec![json!(null), json!({}), json!({ "reference": "x", "y": 1 }), json!([])]),
        ("/customer/reference", vec![json!(""), long(255), long(256), json!(null), json!("\u{1F375}".repeat(255))]),
        ("/customer/email", vec![json!(null), json!("a"), json!("a@b"), json!("a@b@c"), json!("a b@c"), json!("@")]),
        ("/currency", vec![json!("jpy"), json!("EUR"), json!("XAU"), json!(""), json!(null), json!("DEM")]),
        ("/lines", vec![json!([]), json!(null), json!({}), Value::from(vec![order_body()["lines"][0].clone(); 501])]),
        ("/lines/0/sku", vec![json!(""), long(64), long(65), json!(null)]),
        ("/lines/0/description", vec![json!(null), json!(""), long(500), long(501)]),
        ("/lines/0/quantity", vec![json!(0), json!(1_000_000), json!(1_000_001), json!(1.5), json!("1"), json!(1.0)]),
        ("/lines/0/unit_amount", vec![json!(0), json!(-1), json!(9_007_199_254_740_992_i64), json!(null)]),
        ("/expected_amount", vec![json!(null), json!(2400), json!(-1), json!("2400")]),
        ("/metadata", vec![json!(null), json!({}), notes(50, 40, 500), notes(51, 2, 1), json!([]), json!({ "": "x" })]),
        ("/metadata/channel", vec![json!(""), long(500), long(501), json!(1), json!(null)]),
        (
            "/payment",
            vec![json!(null), json!({}), json!({ "method": "pm_card_visa" }), json!({ "method": 1 }), json!([])],
        ),
        (
            "/payment",
            vec![json!({ "method": "" }), json!({ "method": "pm_card_visa", "x": 1 }), json!({ "method": null })],
        ),
        ("/more", vec![json!(1), json!(null)]),
    ];
    for (pointer, values) in changes {
        for (number, value) in values.into_iter().enumerate() {
            let mut body = order_body();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[name] = value;
            let answer = app.post(&uuid::Uuid::now_v7().to_string(), &body).await;
            let short: String = body.to_string().chars().take(300).collect();
            assert_eq!(
                answer.status == 201,
                schema.is_valid(&body),
                "{pointer} {number}: {} for {short}",
                answer.status
            );
        }
    }
}
