//! `ichido reconcile --sweep`.

use crate::command_line::Program;
use crate::support::app::TestApp;
use crate::support::payments::{SECRET_KEY, paid_body, start, use_gateway};
use crate::sweep::{found, pay_at_the_gateway};
use ichido::app::sweep::report::Found;
use ichido::app::sweep::{orgs_to_sweep, sweep};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn program(app: &TestApp) -> Program {
    Program::on(&app.url).with("ICHIDO_SECRET_KEY", SECRET_KEY)
}

#[tokio::test]
async fn the_command_tells_what_it_found_and_fails_only_when_it_could_not_look() {
    let (app, world) = start().await;
    let id = app.post("k", &paid_body("pm_sim_lost_answer")).await.id();
    let (program, command) = (program(&app), format!("reconcile --sweep --org {}", app.org.id));
    let report = program.json(&command, 0).await;
    assert_eq!((&report["payments"], &report["refunds"], &report["complete"]), (&json!(1), &json!(0), &json!(true)));
    assert_eq!((&report["counts"]["settled"], &report["needs_person"]), (&json!(1), &json!(false)));
    let reference = app.order(&id).await["payment"]["gateway_reference"].clone();
    let line = json!({ "found": "settled", "what": "payment", "reference": reference, "order_id": id });
    assert_eq!(report["lines"], json!([line]));
    // What needs a person is told, and is no failure.
    let stray = pay_at_the_gateway(&world, "2400", "jpy", &[("ichido_order_id", id.as_str())]).await;
    let text = program.run(&command).await;
    assert_eq!(text.status, 0, "{text:?}");
    assert!(text.stdout.contains(&format!("case_opened  payment {stray}  order {id}")), "{}", text.stdout);
    assert!(text.stdout.ends_with("1 agreed, 1 case_opened\n"), "{}", text.stdout);
    use_gateway(&app.app, &app.org, "http://127.0.0.1:9/stripe").await;
    let away = program.run(&format!("{command} --json")).await;
    assert_eq!(away.status, 1, "{away:?}");
    let report: serde_json::Value = serde_json::from_str(&away.stdout).unwrap();
    assert_eq!((&report["complete"], &report["stopped_by"]), (&json!(false), &json!("not_connected")));
}

#[tokio::test]
async fn usage_is_strict_and_without_a_gateway_there_is_nothing_to_compare() {
    let app = TestApp::start().await;
    let program = program(&app);
    let org = app.org.id;
    let failed = program.json(&format!("reconcile --sweep --org {org}"), 1).await;
    assert_eq!(failed["error"], format!("there is no gateway of organisation {org}"));
    for wrong in ["", "--sweep", &format!("--org {org}"), &format!("--sweep --org {org} --since 1s")] {
        assert_eq!(program.run(&format!("reconcile {wrong}")).await.status, 2, "{wrong}");
    }
}

#[tokio::test]
async fn a_sweep_that_is_told_to_stop_says_so() {
    let (app, _world) = start().await;
    app.post("k", &paid_body("pm_sim_lost_answer")).await;
    assert_eq!(orgs_to_sweep(&app.app).await.unwrap(), [app.org.id]);
    let stop = CancellationToken::new();
    stop.cancel();
    let report = sweep(&app.app, app.org.id, Duration::from_hours(1), &stop).await.unwrap().unwrap();
    assert_eq!((report.stopped_by, found(&report)), (Some("told_to_stop"), Vec::<Found>::new()));
}
