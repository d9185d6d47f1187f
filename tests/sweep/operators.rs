//! What operators do: set things up, migrate, clean up. A command that died is typed again; what it left behind may be there twice
//! under another id, and never half.

use crate::case::{Case, SECRET};
use crate::support::app::{make_org, new_org};
use crate::support::payments::settings;
use crate::support::postgres;
use ichido::app::check_secrets::check_secrets;
use ichido::clock::Clock;
use ichido::db::deadline::Deadline;
use ichido::db::migrate::{MIGRATIONS, SchemaState};
use ichido::startup;
use secrecy::ExposeSecret;
use tokio_postgres::Client;

/// Holds what the gateway, a partner and the provider of the new organisation are believed by.
const SECRET_ENV: &str = "SWEEP_SECRET";

/// An organisation with all that belongs to it, made by commands.
pub async fn administered(case: &Case) {
    let secret = [(SECRET_ENV, SECRET)];
    let org = case.command(&["org", "create", "--name", "Operated", "--mode", "test", "--json"]).await;
    let org = org["org_id"].to_string();
    let key = case.command(&["key", "create", "--org", &org, "--scope", "orders:read", "--json"]).await;
    let (stripe, partner) = (case.world.stripe(), format!("{}/partners/shipment_request", case.world.base));
    let gateway = ["gateway", "set", "--org", &org, "--provider", "stripe", "--api-base", &stripe];
    case.command_with(&[&gateway[..], &["--secret-env", SECRET_ENV, "--json"]].concat(), &secret).await;
    let step =
        ["step", "set", "--org", &org, "--kind", "shipment_request", "--url", &partner, "--honours-keys", "true"];
    case.command_with(&[&step[..], &["--owner", "o", "--secret-env", SECRET_ENV, "--json"]].concat(), &secret).await;
    let endpoint = ["webhook-endpoint", "create", "--org", &org, "--provider", "stripe"];
    let endpoint = case.command_with(&[&endpoint[..], &["--secret-env", SECRET_ENV, "--json"]].concat(), &secret).await;
    // What was made last is whole, and works at once.
    assert_eq!(case.get(key["token"].as_str().unwrap(), "/v1/orders").await, 200);
    assert_eq!(case.deliver(endpoint["path"].as_str().unwrap(), "{}").await.ok(), Some(200));
    let sql = postgres::connect(&case.url).await;
    for table in ["gateways", "step_policies"] {
        assert_eq!(count(&sql, &format!("{table} WHERE org_id = {org}")).await, 1, "{table}");
    }
    // What an earlier try made is there at most once, and can be used or is of no use to anybody.
    for table in ["orgs WHERE name = 'Operated'", "api_keys AS k JOIN orgs USING (org_id) WHERE name = 'Operated'"] {
        assert!((1..=2).contains(&count(&sql, table).await), "{table}");
    }
    let secrets = check_secrets(&case.app, Deadline::of_request()).await.unwrap();
    assert_eq!(secrets.closed, 0, "a secret that nobody can open");
    let bare = "SELECT endpoint_id::text FROM webhook_endpoints AS e
        WHERE NOT EXISTS (SELECT FROM webhook_secrets AS s WHERE s.org_id = e.org_id AND s.endpoint_id = e.endpoint_id)";
    for row in sql.query(bare, &[]).await.unwrap() {
        let path = format!("/v1/webhooks/{}", row.get::<_, &str>(0));
        assert_eq!(case.deliver(&path, "{}").await.ok(), Some(400), "an endpoint without a secret believes somebody");
    }
}

/// An empty database that is migrated.
pub async fn migrated(case: &Case) {
    let url = postgres::empty_database().await;
    case.command_with(&["migrate", "--json"], &[("DATABASE_URL", url.expose_secret())]).await;
    let app = startup::app(&url, 1, Clock::System, settings()).unwrap();
    let state = app.db.schema_state(Deadline::of_request()).await.unwrap();
    assert_eq!(state, SchemaState::Current);
    app.db.close();
    let sql = postgres::connect(&url).await;
    assert_eq!(count(&sql, "schema_migrations").await, i64::try_from(MIGRATIONS.len()).unwrap());
    // Each once, and as whoever migrates without dying makes it.
    let columns = "SELECT string_agg(format('%s.%s %s', table_name, column_name, data_type), ',' ORDER BY table_name, column_name)
        FROM information_schema.columns WHERE table_schema = 'public'";
    let of = async |sql: &Client| sql.query_one(columns, &[]).await.unwrap().get::<_, String>(0);
    assert_eq!(of(&sql).await, of(&postgres::connect(&case.url).await).await);
}

/// Deliveries of two organisations whose bytes were kept for long enough; their rows stay.
pub async fn forgotten(case: &Case) {
    for _ in 0..2 {
        case.notify("{}").await;
    }
    let (sql, other) = (postgres::connect(&case.url).await, make_org(&case.app, new_org()).await);
    let of_the_other = "INSERT INTO receipts (org_id, receipt_id, endpoint_id, provider, received_at, signature, body,
            body_bytes, reply_status, classification)
        SELECT $1, gen_random_uuid(), endpoint_id, provider, received_at, signature, body, body_bytes, reply_status,
            classification FROM receipts";
    let all = sql.execute(of_the_other, &[&other.id.0]).await.unwrap() * 2;
    sql.batch_execute("UPDATE receipts SET received_at = now() - interval '91 days'").await.unwrap();
    case.command(&["cleanup"]).await;
    assert_eq!(count(&sql, "receipts WHERE body IS NOT NULL").await, 0, "bytes are left");
    assert_eq!(count(&sql, "receipts WHERE body IS NULL AND body_bytes = 2").await, i64::try_from(all).unwrap());
}

async fn count(sql: &Client, of: &str) -> i64 {
    sql.query_one(&format!("SELECT count(*) FROM {of}"), &[]).await.unwrap().get(0)
}
