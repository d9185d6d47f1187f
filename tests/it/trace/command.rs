//! `ichido order trace`: the same, for people.

use crate::command_line::Program;
use crate::support::payments::{paid_body, start};
use crate::support::work::work;
use crate::trace::orders::trace;

#[tokio::test]
async fn the_command_tells_what_the_api_tells() {
    let (app, _world) = start().await;
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    app.cancel(&id, "c").await;
    work(&app).await;
    let (program, org) = (Program::on(&app.url), app.org.id.0);
    assert_eq!(program.json(&format!("order trace {id} --org {org}"), 0).await, trace(&app, &id).await);
    let run = program.run(&format!("order trace {id} --org {org}")).await;
    assert!(run.status == 0 && run.stderr.is_empty(), "{run:?}");
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines[0], format!("order {id}"));
    let line = |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "no {text}: {}", run.stdout);
    line(
        "operation_attempted  charge 1 (request)  leased → done, payment processing → succeeded, order received → confirmed",
    );
    line("    outcome: succeeded");
    line("order confirmed → cancelled");
    line("operation_attempted  refund 1 (recovery)");
    assert_eq!(lines[lines.len() - 3..], ["effects", "  1 × charge 1", "  1 × refund 1"]);
}

#[tokio::test]
async fn an_order_that_is_not_there_is_a_failure_and_no_id_wrong_usage() {
    let (app, _world) = start().await;
    let program = Program::on(&app.url);
    let id = app.post("k", &paid_body("pm_card_visa")).await.id();
    let missing = program.json(&format!("order trace {id} --org 999"), 1).await;
    assert_eq!(missing["error"], format!("there is no order {id} in organisation 999"));
    assert_eq!(program.run(&format!("order trace x --org {}", app.org.id.0)).await.status, 2);
    assert_eq!(program.run(&format!("order trace {id}")).await.status, 2);
}
