//! `openapi.yaml` and the program say the same: routes, problems, currencies, and what each operation does.

mod access;
mod operations;
mod problems;

use crate::support::contract::{OPENAPI, resolve};
use ichido::domain::validate::is_currency;
use ichido::http::routes;
use iso_currency::{Currency, IntoEnumIterator};
use serde_json::Value;
use std::collections::BTreeSet;

/// One method of one path, with what a test needs to call it.
pub struct Operation {
    /// `GET` and the like.
    pub method: String,
    /// Path template.
    pub route: String,
    /// The operation's object.
    pub definition: &'static Value,
}

impl Operation {
    /// Every operation of the contract.
    pub fn all() -> Vec<Self> {
        let methods = ["get", "put", "post", "delete", "patch", "options", "head", "trace"];
        let mut all = Vec::new();
        for (route, item) in OPENAPI["paths"].as_object().unwrap() {
            for (method, definition) in item.as_object().unwrap() {
                assert!(methods.contains(&method.as_str()), "{route} has {method}, which no test looks at");
                all.push(Self { method: method.to_uppercase(), route: route.clone(), definition });
            }
        }
        all
    }

    /// Whether it needs an API key; what the document says for all operations holds unless an operation says otherwise.
    pub fn needs_key(&self) -> bool {
        let security = self.definition.get("security").unwrap_or(&OPENAPI["security"]);
        !security.as_array().unwrap().is_empty()
    }

    /// Whether a signature stands in the place of an API key.
    pub fn is_signed(&self) -> bool {
        self.route.starts_with("/v1/webhooks/")
    }

    /// The scope that it needs.
    pub fn scope(&self) -> Option<&'static str> {
        self.definition["x-required-scope"].as_str()
    }

    /// Its documented answers by status.
    pub fn responses(&self) -> impl Iterator<Item = (u16, &'static Value)> {
        let responses = self.definition["responses"].as_object().unwrap();
        responses.iter().map(|(status, response)| (status.parse().unwrap(), resolve(response)))
    }
}

#[test]
fn the_routing_table_is_the_contracts() {
    let served: BTreeSet<_> =
        routes().into_iter().map(|(method, path)| (method.to_string(), path.to_owned())).collect();
    let documented: BTreeSet<_> = Operation::all().into_iter().map(|each| (each.method, each.route)).collect();
    assert_eq!(served, documented);
    assert_eq!(routes().len(), served.len(), "a route is listed twice");
}

#[test]
fn every_operation_has_its_own_name() {
    let all = Operation::all();
    let names: BTreeSet<_> = all.iter().map(|each| each.definition["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn the_currencies_are_those_that_have_a_minor_unit() {
    let listed = OPENAPI["components"]["schemas"]["Currency"]["enum"].as_array().unwrap();
    let listed: Vec<_> = listed.iter().map(|code| code.as_str().unwrap()).collect();
    assert!(listed.is_sorted() && listed.contains(&"JPY") && !listed.contains(&"XAU"));
    let with_minor_unit = Currency::iter().filter(|currency| currency.exponent().is_some());
    let expected: BTreeSet<_> = with_minor_unit.map(|currency| currency.code().to_owned()).collect();
    assert_eq!(listed.iter().map(|code| (*code).to_owned()).collect::<BTreeSet<_>>(), expected);
    let letters = || ('A'..='Z').chain(['a', 'z', '0']);
    for first in letters() {
        for second in letters() {
            for third in letters() {
                let code = String::from_iter([first, second, third]);
                assert_eq!(is_currency(&code), expected.contains(&code), "{code}");
            }
        }
    }
}
