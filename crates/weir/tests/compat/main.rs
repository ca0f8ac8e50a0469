//! Replays recordings of Spring Cloud Gateway (`tests/compat/cases`) against weir.
//!
//! Every case gives the same, or is listed in `tests/compat/deviations.txt` with what differs and
//! why.
//! `COMPAT=filters/retry.txt` plays the files whose names hold that text. `COMPAT_UPDATE=1` writes
//! down anew what differs in the cases listed, and DEVIATIONS.md; it lists no case by itself. Where
//! the list names switches, the case is played with them as well, and has to be the same then.

mod case_file;
mod comparison;
mod coverage;
mod deviations;
mod message;
mod methods;
mod normal;
mod peer;
mod player;
mod rules;
mod upstream;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use case_file::CaseFile;
use comparison::{Difference, compare};
use deviations::{Deviations, Entry, START};
use player::Player;
use rules::RULES;
use weir_config::{DEVIATIONS, Deviation};
use weir_testkit::{Redis, closed_port};

/// Files played at a time.
const THREADS: usize = 4;

/// With this setting weir leaves out the routes it would otherwise refuse to start with, so that
/// the others can be played.
const WITHOUT_BAD_ROUTES: &str =
    "spring.cloud.gateway.server.webflux.fail-on-route-definition-error=false";

/// The result of one file.
#[derive(Default)]
struct Outcome {
    /// Cases in order, with what differs.
    cases: Vec<(String, Vec<Difference>)>,
    rules: BTreeSet<&'static str>,
    /// The message of weir when it refused the configuration.
    refusal: String,
}

#[test]
fn every_recorded_case_is_the_same_or_listed() {
    let root = place("cases");
    let chosen = std::env::var("COMPAT").unwrap_or_default();
    let mut names = case_file::names(&root);
    names.retain(|name| name.contains(&chosen));
    let mut files: Vec<_> = names.iter().map(|name| CaseFile::read(&root, name)).collect();
    let has_redis = Redis::start(closed_port(), &[]).is_some();
    files.retain(|file| has_redis || !file.wants("redis"));
    let is_whole = chosen.is_empty() && files.len() == names.len();
    let list = Deviations::read(&read("deviations.txt"));
    let outcomes = play_all(&files, |_| Vec::new());
    let mut problems = Vec::new();
    let mut updated = Deviations { entries: Vec::new(), ..list.clone() };
    let mut cases = 0;
    for (file, outcome) in files.iter().zip(&outcomes) {
        cases += outcome.cases.len();
        for (case, differences) in &outcome.cases {
            let entry = list.entry(&file.name, case);
            problems.extend(judge(&file.name, case, entry, differences));
            if let Some(entry) = entry.filter(|_| !differences.is_empty()) {
                updated.entries.push(Entry { differences: differences.clone(), ..entry.clone() });
            }
        }
        if !outcome.refusal.is_empty() && problems.iter().any(|it| it.starts_with(&file.name)) {
            problems.push(format!("{}: weir said\n{}", file.name, outcome.refusal));
        }
    }
    let switched: Vec<_> =
        files.into_iter().filter(|file| !switches(&list, file).is_empty()).collect();
    let outcomes_switched = play_all(&switched, |file| switches(&list, file));
    for (file, outcome) in switched.iter().zip(&outcomes_switched) {
        problems.extend(not_switched_back(&list, file, outcome));
    }
    if is_whole {
        problems.extend(stale(&list, &names, &outcomes));
        if std::env::var_os("COMPAT_UPDATE").is_some() {
            std::fs::write(place("deviations.txt"), updated.write()).expect("write the list");
            std::fs::write(place("DEVIATIONS.md"), updated.page()).expect("write the page");
        }
    }
    let count = problems.len();
    let report = problems.join("\n");
    assert!(problems.is_empty(), "{count} problems in {cases} cases:\n{report}");
}

#[test]
fn the_page_is_made_from_the_list() {
    let list = Deviations::read(&read("deviations.txt"));
    let is_written_now = std::env::var_os("COMPAT_UPDATE").is_some();
    let is_current = is_written_now || list.page() == read("DEVIATIONS.md");
    assert!(is_current, "run the test with COMPAT_UPDATE=1");
    for entry in &list.entries {
        for reason in &entry.reasons {
            assert!(list.reasons.contains_key(reason), "{}: no reason {reason:?}", entry.file);
        }
    }
    for (name, reason) in &list.reasons {
        let told = |it: &Deviation| it.switch == reason.switch.as_deref();
        assert!(DEVIATIONS.iter().any(told), "`weir check` does not tell of the switch of {name}");
        let used = list.entries.iter().any(|entry| entry.reasons.contains(name));
        assert!(used, "nothing differs because of {name:?}");
    }
}

#[test]
fn every_filter_and_predicate_has_a_recording() {
    let root = place("cases");
    let files: Vec<_> =
        case_file::names(&root).iter().map(|name| CaseFile::read(&root, name)).collect();
    assert_eq!(coverage::unrecorded(&files), [""; 0]);
}

fn judge(
    file: &str,
    case: &str,
    entry: Option<&Entry>,
    differences: &[Difference],
) -> Option<String> {
    let shown: String = differences.iter().map(|it| format!("\n  {it}")).collect();
    match entry {
        None if differences.is_empty() => None,
        None => Some(format!("{file}: {case}{shown}")),
        Some(_) if differences.is_empty() => Some(format!("{file}: {case}: no longer differs")),
        Some(entry) if entry.differences == differences => None,
        Some(_) => Some(format!("{file}: {case}: differs otherwise than listed{shown}")),
    }
}

/// Entries of cases that are not there, and rules that nothing needs.
fn stale(list: &Deviations, names: &[String], outcomes: &[Outcome]) -> Vec<String> {
    let mut problems = Vec::new();
    for entry in &list.entries {
        let outcome = names.iter().zip(outcomes).find(|(name, _)| **name == entry.file);
        let is_there = |(_, outcome): &(&String, &Outcome)| {
            outcome.cases.iter().any(|(case, _)| *case == entry.case)
        };
        if !outcome.as_ref().is_some_and(is_there) {
            problems.push(format!("{}: {}: there is no such case", entry.file, entry.case));
        }
    }
    for rule in RULES {
        if !outcomes.iter().any(|outcome| outcome.rules.contains(rule.what)) {
            problems.push(format!("a rule that nothing needs: {}", rule.what));
        }
    }
    problems
}

/// Settings that bring SCG's behaviour back for cases of `file`, as `key=value`.
fn switches(list: &Deviations, file: &CaseFile) -> Vec<String> {
    let entries = list.entries.iter().filter(|entry| entry.file == file.name);
    let mut settings: Vec<_> = entries.filter_map(|entry| list.switches(entry)).flatten().collect();
    settings.sort();
    settings.dedup();
    settings
}

fn not_switched_back(list: &Deviations, file: &CaseFile, outcome: &Outcome) -> Vec<String> {
    let mut problems = Vec::new();
    for (case, differences) in outcome.cases.iter().filter(|(_, it)| !it.is_empty()) {
        let entry = list.entry(&file.name, case);
        if let Some(settings) = entry.and_then(|entry| list.switches(entry)) {
            let shown: String = differences.iter().map(|it| format!("\n  {it}")).collect();
            let settings = settings.join(" ");
            problems.push(format!("{}: {case}: differs with {settings} too{shown}", file.name));
        }
    }
    problems
}

fn play_all(
    files: &[CaseFile],
    settings: impl Fn(&CaseFile) -> Vec<String> + Sync,
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<_> = files.iter().map(|_| Mutex::new(Outcome::default())).collect();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let (Some(file), Some(outcome)) = (files.get(index), outcomes.get(index))
                {
                    *outcome.lock().expect("a file is played once") = play(file, &settings(file));
                }
            });
        }
    });
    outcomes.into_iter().map(|outcome| outcome.into_inner().expect("no player panics")).collect()
}

fn play(file: &CaseFile, settings: &[String]) -> Outcome {
    let mut outcome = Outcome::default();
    let started = Player::start(file, settings);
    let says = |starts: bool| if starts { "starts" } else { "refused" };
    let (scg, weir) = (file.start_failure.is_none(), started.is_ok());
    let differences = match scg == weir {
        true => Vec::new(),
        false => vec![Difference::new("gateway", says(scg), says(weir))],
    };
    outcome.cases.push((START.to_owned(), differences));
    let player = started.or_else(|refusal| {
        outcome.refusal = refusal;
        Player::start(file, &[settings, &[WITHOUT_BAD_ROUTES.to_owned()]].concat())
    });
    let mut player = match player {
        Ok(player) if scg => player,
        _ => return outcome,
    };
    for case in &file.cases {
        let several = case.exchanges.len() > 1;
        let mut differences = Vec::new();
        for (index, exchange) in case.exchanges.iter().enumerate() {
            let seen = player.play(exchange);
            for mut difference in compare(exchange, seen, &mut outcome.rules) {
                if several {
                    difference.place = format!("{}. {}", index + 1, difference.place);
                }
                differences.push(difference);
            }
        }
        outcome.cases.push((case.title.clone(), differences));
    }
    outcome
}

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat").join(name)
}

fn read(name: &str) -> String {
    let path = place(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
