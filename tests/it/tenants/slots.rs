//! Every place of a request that the contract has, and what may stand in it. One that is not known here is a failure, so that
//! no new parameter is forgotten.

use crate::openapi::Operation;
use crate::support::contract::resolve;
use serde_json::Value;

/// Where in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// A header.
    Header,
    /// A member of the body; its name is a JSON pointer.
    Body,
}

/// What stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// Something that names what an organisation has: its kind.
    Id(String),
    /// Anything; ids of any kind, too.
    Text,
    /// One of these, which name nothing of anybody's.
    Plain(Vec<String>),
    /// What the test makes itself.
    Made,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Where.
    pub place: Place,
    /// The parameter's name, or a JSON pointer.
    pub name: String,
    /// What.
    pub means: Means,
}

/// Every place of an operation.
pub fn slots(operation: &Operation) -> Vec<Slot> {
    let mut slots = Vec::new();
    for parameter in operation.definition["parameters"].as_array().into_iter().flatten().map(resolve) {
        let name = parameter["name"].as_str().unwrap().to_owned();
        let place = match parameter["in"].as_str().unwrap() {
            "path" => Place::Path,
            "query" => Place::Query,
            "header" => Place::Header,
            other => panic!("{} {} has a parameter in {other}", operation.method, operation.route),
        };
        let means = of_parameter(operation, place, &name, &parameter["schema"]);
        slots.push(Slot { place, name, means });
    }
    assert_eq!(operation.route.matches('{').count(), slots.iter().filter(|slot| slot.place == Place::Path).count());
    let media = &operation.definition["requestBody"]["content"];
    for (media, content) in media.as_object().into_iter().flatten() {
        assert_eq!(media, "application/json", "{}", operation.route);
        let mut leaves = Vec::new();
        if content["schema"] == Value::Object(serde_json::Map::new()) {
            // What anybody may send: what the examples show stands for it.
            content["examples"].as_object().unwrap().values().for_each(|one| of_value(&one["value"], "", &mut leaves));
        } else {
            of_schema(&content["schema"], "", &mut leaves);
        }
        leaves.sort();
        leaves.dedup();
        slots.extend(leaves.into_iter().map(|name| Slot {
            place: Place::Body,
            means: of_member(operation, &name),
            name,
        }));
    }
    slots
}

fn id(kind: &str) -> Means {
    Means::Id(kind.to_owned())
}

fn of_parameter(operation: &Operation, place: Place, name: &str, schema: &Value) -> Means {
    let plain = |values: &[&str]| Means::Plain(values.iter().map(|value| (*value).to_owned()).collect());
    match (place, name) {
        (Place::Path | Place::Query, "order_id") => id("order"),
        (Place::Path, "idempotency_key") | (Place::Header, "Idempotency-Key") => id("key"),
        (Place::Path, "case_id") => id("case"),
        (Place::Path | Place::Query, "endpoint_id") => id("endpoint"),
        (Place::Path, "receipt_id") => id("receipt"),
        (Place::Query, "notification_id") => id("notification"),
        (Place::Query, "fact_key") => id("fact"),
        (Place::Query, "order_reference") => id("order_reference"),
        (Place::Query, "customer_reference") => id("customer"),
        (Place::Query, "cursor") => id(&format!("cursor of {}", operation.route)),
        (Place::Header, "If-None-Match") => id("etag"),
        (Place::Header, "Stripe-Signature") => Means::Made,
        (Place::Header, "Prefer") => plain(&["wait=1"]),
        (Place::Path, "code") => plain(&["order_reference_taken"]),
        (Place::Query, "limit") => plain(&["1", "7", "100"]),
        (Place::Query, "needs_reconciliation") => plain(&["true", "false"]),
        (Place::Query, "type") => plain(&["payment_intent.succeeded"]),
        (Place::Query, "kind") => plain(&["charge", "refund", "stock_reservation"]),
        (Place::Query, "reason") => plain(&["outcome_unknown"]),
        (Place::Query, "state" | "status" | "classification" | "signature" | "outcome" | "what") => {
            let values = resolve(schema)["enum"].as_array().unwrap_or_else(|| panic!("{name} is no list of words"));
            Means::Plain(values.iter().map(|value| value.as_str().unwrap().to_owned()).collect())
        }
        _ => panic!("{} {}: nobody said what {name} in {place:?} means", operation.method, operation.route),
    }
}

fn of_member(operation: &Operation, pointer: &str) -> Means {
    match (operation.definition["operationId"].as_str().unwrap(), pointer) {
        ("create_order", "/order_reference") => id("order_reference"),
        ("create_order", "/customer/reference") => id("customer"),
        ("create_order", "/customer/email") => id("email"),
        ("create_order", "/metadata/*" | "/lines/0/sku" | "/lines/0/description")
        | ("decide_reconciliation_case", "/reason") => Means::Text,
        ("decide_reconciliation_case", "/proof") | ("receive_notification", "/data/object/id") => id("payment"),
        ("receive_notification", "/id") => id("notification"),
        ("receive_notification", "/data/object/metadata/ichido_order_id") => id("order"),
        // As in the example.
        (
            "create_order",
            "/currency" | "/lines/0/quantity" | "/lines/0/unit_amount" | "/expected_amount" | "/payment/method",
        )
        | ("pay_order", "/method")
        | ("decide_reconciliation_case", "/decision") => Means::Made,
        ("receive_notification", pointer)
            if ["/object", "/type", "/created", "/livemode"].contains(&pointer)
                || ["object", "amount", "amount_received", "currency", "status"]
                    .iter()
                    .any(|name| pointer == format!("/data/object/{name}")) =>
        {
            Means::Made
        }
        _ => panic!("{} {}: nobody said what {pointer} means", operation.method, operation.route),
    }
}

/// The pointers of a schema's members that have none of their own; `*` is a member of any name.
fn of_schema(schema: &Value, at: &str, leaves: &mut Vec<String>) {
    let schema = resolve(schema);
    let before = leaves.len();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        of_schema(member, &format!("{at}/{name}"), leaves);
    }
    if schema["items"].is_object() {
        of_schema(&schema["items"], &format!("{at}/0"), leaves);
    }
    if schema["additionalProperties"].is_object() {
        of_schema(&schema["additionalProperties"], &format!("{at}/*"), leaves);
    }
    let is_empty_object = schema["additionalProperties"] == false && schema["maxProperties"] == 0;
    if leaves.len() == before && !is_empty_object {
        leaves.push(at.to_owned());
    }
}

fn of_value(value: &Value, at: &str, leaves: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, it)| of_value(it, &format!("{at}/{name}"), leaves)),
        Value::Array(items) => items.iter().for_each(|item| of_value(item, &format!("{at}/0"), leaves)),
        _ => leaves.push(at.to_owned()),
    }
}
