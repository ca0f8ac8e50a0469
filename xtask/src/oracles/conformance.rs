//! `weir mock` as schemathesis sees it: real definitions are served, requests that keep and break
//! them are sent, and the answers are compared with what the definitions say.
//!
//! The definitions come with packages that npm installs; none is kept here. What schemathesis finds
//! has to be what `bench/oracles/known.json` names, with reasons: no more and no less.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;
use weir_testkit::Gateway;
use weir_testkit::tree::root;

/// Definitions by their places among the installed packages.
const DOCUMENTS: &[(&str, &str)] = &[
    ("figma", "@figma/rest-api-spec/openapi/openapi.yaml"),
    ("netlify", "@netlify/open-api/dist/swagger.json"),
    ("petstore", "@readme/oas-examples/3.0/json/petstore.json"),
    ("star-trek", "@readme/oas-examples/3.0/json/star-trek.json"),
    ("train-travel", "@readme/oas-examples/3.1/json/train-travel.json"),
    ("uspto", "@readme/oas-examples/3.0/json/uspto.json"),
];

/// What is compared. Left out is what needs a service behind the answers: a mock asks for
/// credentials but takes any (`ignored_auth`), and keeps nothing unless it is told to
/// (`use_after_free`, `ensure_resource_availability`, `object_level_authorization`).
const CHECKS: &[&str] = &[
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
];

/// Checks that a problem document of the mock itself fails by design: a definition that declares no
/// answer to a wrong request gets that one, as from Prism.
const OWN_ANSWER_CHECKS: &[&str] = &["status_code_conformance", "content_type_conformance"];

/// How each problem document of the mock starts, `{"type":"urn:weir:moc`, in Base64 as reports
/// have it.
const OWN_ANSWER: &str = "eyJ0eXBlIjoidXJuOndlaXI6bW9j";

/// Definition, check, operation.
type Finding = (String, String, String);

/// Findings that are known, with the reason why they stay.
#[derive(Debug, Deserialize)]
struct Known {
    document: String,
    check: String,
    operations: Vec<String>,
    /// For readers.
    #[serde(rename = "why")]
    _why: String,
}

/// Tests every definition, says what differs from the known findings, and gives how much does.
///
/// # Errors
/// weir or schemathesis cannot be run, or schemathesis did not come to its end.
pub(super) fn run(home: &Path, weir: &Path) -> anyhow::Result<usize> {
    let known = std::fs::read_to_string(root().join("bench/oracles/known.json"))?;
    let known: Vec<Known> = serde_json::from_str(&known).context("known.json")?;
    let known: BTreeSet<Finding> = known
        .into_iter()
        .flat_map(|Known { document, check, operations, .. }| {
            operations.into_iter().map(move |one| (document.clone(), check.clone(), one))
        })
        .collect();
    let mut found = BTreeMap::new();
    for (name, place) in DOCUMENTS {
        eprintln!("schemathesis: {name}");
        let file = home.join("node_modules").join(place);
        let findings = test(home, weir, &file).with_context(|| format!("{name} ({place})"))?;
        found.extend(
            findings
                .into_iter()
                .map(|((check, operation), told)| (((*name).to_owned(), check, operation), told)),
        );
    }
    let mut differing = 0;
    for (finding, told) in found.iter().filter(|(finding, _)| !known.contains(*finding)) {
        let (document, check, operation) = finding;
        println!("new: {document}: {check}: {operation}: {told}");
        differing += 1;
    }
    for (document, check, operation) in known.iter().filter(|one| !found.contains_key(*one)) {
        println!("gone, take it out of known.json: {document}: {check}: {operation}");
        differing += 1;
    }
    println!(
        "{} definitions tested by schemathesis, {} findings, {differing} of them new or gone",
        DOCUMENTS.len(),
        found.len(),
    );
    Ok(differing)
}

/// What schemathesis finds about one definition: by check and operation, what it says first.
fn test(
    home: &Path,
    weir: &Path,
    file: &Path,
) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let text = std::fs::read(file).with_context(|| format!("{} is not there", file.display()))?;
    let name = file.file_name().context("a name")?.to_string_lossy().into_owned();
    let args = ["mock", "--port", "0", "{config}"];
    let mock = Gateway::launch(Command::new(weir), &args, &[(&name, &text)]);
    let origin = format!("http://{}", mock.address());
    let directory = tempfile::tempdir()?;
    let mut command = Command::new("python3");
    command
        .current_dir(directory.path())
        .env("PYTHONPATH", home.join("python"))
        .args(["-m", "schemathesis.cli", "run"])
        .arg(file)
        .args(["--origin", &origin, "--checks", &CHECKS.join(",")])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "10"])
        .args(["--generation-deterministic", "--continue-on-failure", "--no-color"])
        .args(["--suppress-health-check", "all", "--request-timeout", "60"])
        .args(["--warnings", "off", "--report", "json,ndjson"])
        .args(["--report-json-path", "sum.json", "--report-ndjson-path", "events.ndjson"])
        .stdin(Stdio::null());
    let output = command.output();
    let output =
        output.with_context(|| format!("{} does not start", command.get_program().display()))?;
    let sum = std::fs::read_to_string(directory.path().join("sum.json")).unwrap_or_default();
    let sum: Value = serde_json::from_str(&sum).unwrap_or_default();
    let is_whole = sum["complete"] == true
        && sum["errors"].as_array().is_some_and(Vec::is_empty)
        && sum["operations"]["tested"].as_u64() > Some(0);
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(is_whole, "schemathesis did not come to its end: {said} {}", sum["errors"]);
    let mut found = BTreeMap::new();
    for line in std::fs::read_to_string(directory.path().join("events.ndjson"))?.lines() {
        let event: Value = serde_json::from_str(line).context("an event")?;
        failures(&event["ScenarioFinished"]["recorder"], &mut found);
    }
    Ok(found)
}

/// Adds the failures of one scenario.
fn failures(recorder: &Value, found: &mut BTreeMap<(String, String), String>) {
    for (case, checks) in recorder["checks"].as_object().into_iter().flatten() {
        let interaction = &recorder["interactions"][case];
        let body = interaction["response"]["content"]["$base64"].as_str().unwrap_or_default();
        let is_own = body.starts_with(OWN_ANSWER);
        for check in checks.as_array().into_iter().flatten() {
            let name = check["name"].as_str().unwrap_or_default();
            if check["status"] != "failure" || is_own && OWN_ANSWER_CHECKS.contains(&name) {
                continue;
            }
            let failure = &check["failure_info"]["failure"];
            let operation = failure["operation"].as_str().unwrap_or_default().to_owned();
            let told = || {
                let request = &interaction["request"];
                format!("{}: {} {}", failure["message"], request["method"], request["uri"])
            };
            found.entry((name.to_owned(), operation)).or_insert_with(told);
        }
    }
}
