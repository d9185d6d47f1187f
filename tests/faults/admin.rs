//! The program's own command line: what an installation is set up with before it runs.

use crate::Failure;
use crate::api::Org;
use crate::gateway::Gateway;
use crate::judge::steps::STEPS;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Times short enough for a run of minutes, and what stored secrets are encrypted with.
const SETTINGS: [(&str, &str); 4] = [
    ("ICHIDO_GATEWAY_TIMEOUT", "1s"),
    ("ICHIDO_LEASE", "3s"),
    ("ICHIDO_ASK_AFTER", "1s,1s,2s,4s"),
    ("ICHIDO_SECRET_KEY", "4d1f0c0a7be2934d8e61a5f2b3c7d9e0112233445566778899aabbccddeeff00"),
];
/// The variable from which the gateway's secret is read, and the secret; the simulated gateway accepts any.
const GATEWAY_SECRET: (&str, &str) = ("FAULTS_GATEWAY_SECRET", "sk_test_faults");
/// The same of what notifications are signed with; the simulated gateway is told, too.
pub const WEBHOOK_SECRET: (&str, &str) = ("FAULTS_WEBHOOK_SECRET", "whsec_faults");
const SECRETS: [(&str, &str); 2] = [GATEWAY_SECRET, WEBHOOK_SECRET];
const SCOPES: [&str; 3] = ["orders:read", "orders:write", "reconcile"];

/// The command line of the program.
pub struct Admin {
    /// The file to run.
    pub program: PathBuf,
    /// The database.
    pub url: String,
}

impl Admin {
    /// Makes an organisation, and a key for it with every scope that the run needs.
    pub async fn make_org(&self, name: &str) -> Result<Org, Failure> {
        let made = self.run(&["org", "create", "--name", name, "--mode", "test"], &[]).await?;
        let id = made.get("org_id").and_then(Value::as_i64).ok_or("no org_id")?;
        let org = id.to_string();
        let mut words = vec!["key", "create", "--org", &org];
        words.extend(SCOPES.iter().flat_map(|scope| ["--scope", scope]));
        let key = self.run(&words, &[]).await?;
        let token = key.get("token").and_then(Value::as_str).ok_or("no token")?.to_owned();
        Ok(Org { id, token })
    }

    /// Makes the place to which an organisation's gateway sends its notifications; gives its path.
    pub async fn make_endpoint(&self, org: &Org) -> Result<String, Failure> {
        let org = org.id.to_string();
        let words = ["webhook-endpoint", "create", "--org", &org, "--provider", "stripe", "--secret-env"];
        let made = self.run(&[&words[..], &[WEBHOOK_SECRET.0]].concat(), &SECRETS).await?;
        Ok(made.get("path").and_then(Value::as_str).ok_or("no path of the endpoint")?.to_owned())
    }

    /// Lets an organisation be paid, and have its steps done, by way of a gateway's line.
    pub async fn use_gateway(&self, org: &Org, gateway: &Gateway) -> Result<(), Failure> {
        let (org, line) = (org.id.to_string(), gateway.link.address);
        let base = format!("http://{line}/stripe");
        let words = ["gateway", "set", "--org", &org, "--provider", "stripe", "--api-base", &base];
        self.run(&[&words[..], &["--secret-env", GATEWAY_SECRET.0]].concat(), &SECRETS).await?;
        for kind in STEPS {
            let url = format!("http://{line}/partners/{kind}");
            let words = ["step", "set", "--org", &org, "--kind", kind, "--url", &url, "--status-url", &url];
            self.run(&[&words[..], &["--honours-keys", "true", "--owner", "operations"]].concat(), &SECRETS).await?;
        }
        Ok(())
    }

    /// Runs a command; gives the JSON object that it prints.
    pub async fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<Value, Failure> {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--json").envs(environment(&self.url)).envs(variables.iter().copied());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        if !output.status.success() {
            let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            return Err(format!("`ichido {}` failed: {said}{error}", words.join(" ")).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The variables of every process of the program.
pub fn environment(url: &str) -> Vec<(String, String)> {
    let given = [("DATABASE_URL", url), ("ICHIDO_LOG", "json")];
    given.iter().chain(&SETTINGS).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
