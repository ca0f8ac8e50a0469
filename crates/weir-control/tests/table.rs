//! The route table through its control: merging, conditions, reloads, failures.

mod common;

use std::sync::Arc;

use common::{control, ids, loaded, read, route, store, yaml};
use weir_control::{Condition, Control, Done, Filter, Refusal};
use weir_route::{NamedArgs, RouteDefinition};
use weir_store::AuditAction;

const WHO: &str = "127.0.0.1";

async fn import(
    control: &Control,
    routes: Vec<RouteDefinition>,
    who: &str,
) -> Result<Done, Refusal> {
    let mut batch = control.batch();
    routes.into_iter().for_each(|route| batch.add(route));
    control.import(batch, who.into()).await
}

async fn put(control: &Control, id: &str) -> Done {
    let done = control.put(route(id, "http://x"), Condition::Any, WHO.into()).await;
    done.expect("a put")
}

#[tokio::test]
async fn files_come_first_then_the_store_in_the_order_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = [("f1", "http://x"), ("f2", "http://x")];
    let table = control(&directory, &files);
    for id in ["a", "b"] {
        put(&table, id).await;
    }
    let mut first = route("early", "http://x");
    first.order = -1;
    table.put(first, Condition::Any, WHO.into()).await.expect("a put");
    let again = put(&table, "a").await;
    assert_eq!((again.replaced, again.created), (1, 0));
    assert_eq!(ids(&table), ["early", "f1", "f2", "a", "b"]);
    drop(table);
    assert_eq!(ids(&control(&directory, &files)), ["early", "f1", "f2", "a", "b"]);
}

#[tokio::test]
async fn routes_of_files_cannot_be_deleted_and_disabled_ones_do_not_serve() {
    let directory = tempfile::tempdir().expect("a directory");
    let files =
        yaml(&[("f1", "http://x"), ("f2", "http://x")]).replacen("{ ", "{ enabled: false, ", 1);
    let table = Control::start(read(&files), store(&directory)).expect("a control");
    let refused = table.delete("f2".into(), Condition::Any, WHO.into()).await;
    assert!(matches!(refused, Err(Refusal::NotFound)), "{refused:?}");
    let mut disabled = route("a", "http://x");
    disabled.enabled = false;
    table.put(disabled, Condition::Any, WHO.into()).await.expect("a put");
    assert_eq!(ids(&table), ["f2", "a"]);
}

#[tokio::test]
async fn conditions_guard_a_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    let write = async |condition| table.put(route("a", "http://x"), condition, WHO.into()).await;
    assert!(matches!(write(Condition::Exists).await, Err(Refusal::Changed(None))));
    assert!(matches!(write(Condition::At(vec![1])).await, Err(Refusal::Changed(None))));
    let done = write(Condition::Absent).await.expect("a put");
    assert!(matches!(write(Condition::Absent).await, Err(Refusal::Changed(Some(1)))));
    assert_eq!(done.revision, 1);
    let done = write(Condition::At(vec![1, 9])).await.expect("a put");
    assert!(matches!(write(Condition::At(vec![1])).await, Err(Refusal::Changed(Some(2)))));
    let old = table.delete("a".into(), Condition::At(vec![1]), WHO.into()).await;
    assert!(matches!(old, Err(Refusal::Changed(Some(2)))));
    let now = Condition::At(vec![done.revision]);
    table.delete("a".into(), now, WHO.into()).await.expect("a delete");
    assert!(ids(&table).is_empty());
}

#[tokio::test]
async fn an_import_is_all_or_nothing_with_every_problem_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    let routes = vec![route("a", "http://x"), route("b", "x"), route("", "y")];
    let refused = import(&table, routes, WHO).await;
    let Err(Refusal::Invalid(problems)) = refused else { panic!("{refused:?}") };
    let places: Vec<&str> = problems.iter().map(|problem| problem.at.as_str()).collect();
    assert_eq!(places, ["route 'b': uri", "[2].id", "[2].uri"]);
    assert!(ids(&table).is_empty());
    let mut last = route("a", "http://x");
    last.order = 7;
    let routes = vec![route("a", "http://x"), route("b", "http://x"), last];
    let done = import(&table, routes, WHO).await.expect("an import");
    assert_eq!((done.created, done.replaced), (2, 1));
    assert_eq!(ids(&table), ["b", "a"]);
}

#[tokio::test]
async fn a_filter_deletes_from_the_store_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[("a-file", "http://x")]);
    for id in ["a-1", "a-2", "b-1"] {
        put(&table, id).await;
    }
    let filter = Filter { id_prefix: Some("a-".into()), ..Filter::default() };
    let done = table.delete_matching(filter, WHO.into()).await.expect("a delete");
    assert_eq!(done.deleted, 2);
    assert_eq!(ids(&table), ["a-file", "b-1"]);
}

#[tokio::test]
async fn a_reload_replaces_the_files_and_keeps_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[("f1", "http://x"), ("f2", "http://x")]);
    put(&table, "a").await;
    table.reload(loaded(&[("f3", "http://x")]), "SIGHUP".into()).await.expect("a reload");
    assert_eq!(ids(&table), ["f3", "a"]);
    assert_eq!(table.view().find("f3").expect("a look-up").len(), 1);
    assert!(table.view().find("f1").expect("a look-up").is_empty());
}

#[tokio::test]
async fn a_stored_route_that_a_new_configuration_refuses_stops_the_reload() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    let mut on_host = route("a", "http://x");
    on_host.predicates = vec![NamedArgs { name: "Host".into(), ..Default::default() }];
    on_host.predicates[0].args.insert("_genkey_0", "a.example".into());
    table.put(on_host, Condition::Any, WHO.into()).await.expect("a put");
    put(&table, "b").await;
    let strict = "spring.cloud.gateway.server.webflux.predicate.host.enabled: false\n";
    let refused = table.reload(read(strict), "SIGHUP".into()).await;
    let Err(Refusal::Invalid(problems)) = refused else { panic!("{refused:?}") };
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].at, "route 'a': predicates[0]");
    assert_eq!(ids(&table), ["a", "b"]);
    let skipping = format!("{strict}spring.cloud.gateway.fail-on-route-definition-error: false\n");
    table.reload(read(&skipping), "SIGHUP".into()).await.expect("a reload");
    assert_eq!(ids(&table), ["b"]);
    table.reload(loaded(&[]), "SIGHUP".into()).await.expect("a reload");
    assert_eq!(ids(&table), ["a", "b"]);
    drop(table);
    let refused = Control::start(read(strict), store(&directory)).err();
    assert!(matches!(refused, Some(Refusal::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn the_audit_log_says_who_did_what() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[]);
    put(&table, "a").await;
    put(&table, "a").await;
    import(&table, vec![route("b", "http://x")], "10.0.0.1 token").await.expect("an import");
    table.delete("a".into(), Condition::Any, WHO.into()).await.expect("a delete");
    table.delete("none".into(), Condition::Any, WHO.into()).await.expect_err("not there");
    table.reload(loaded(&[]), "SIGHUP".into()).await.expect("a reload");
    let log = table.audit(None, 10).expect("the log");
    let told: Vec<_> =
        log.iter().map(|(_, e)| (e.action, e.who.as_str(), e.count, e.revision)).collect();
    assert_eq!(
        told,
        [
            (AuditAction::Reload, "SIGHUP", 1, 5),
            (AuditAction::Delete, WHO, 1, 4),
            (AuditAction::Import, "10.0.0.1 token", 1, 3),
            (AuditAction::Replace, WHO, 1, 2),
            (AuditAction::Create, WHO, 1, 1),
        ]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn writers_at_once_all_get_through() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = Arc::new(control(&directory, &[]));
    let mut tasks = Vec::new();
    for n in 0..300 {
        let table = Arc::clone(&table);
        tasks.push(tokio::spawn(async move { put(&table, &format!("r{n}")).await.revision }));
    }
    let mut revisions = Vec::new();
    for task in tasks {
        revisions.push(task.await.expect("a task"));
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=300).collect::<Vec<u64>>());
    assert_eq!(ids(&table).len(), 300);
    assert_eq!(table.view().revision(), 300);
    drop(table);
    assert_eq!(ids(&control(&directory, &[])).len(), 300);
}

#[tokio::test]
async fn views_find_page_and_search() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = control(&directory, &[("f", "http://files"), ("a", "http://files")]);
    for id in ["a", "b", "c"] {
        put(&table, id).await;
    }
    let view = table.view();
    let found = view.find("a").expect("a look-up");
    let uris: Vec<&str> = found.iter().map(|entry| entry.definition.uri.as_str()).collect();
    assert_eq!(uris, ["http://files", "http://x"]);
    assert_eq!(found.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [None, Some(1)]);
    assert!(view.find("none").expect("a look-up").is_empty());
    let list = |filter: &Filter, skip, limit| {
        let mut ids = Vec::new();
        view.list(None, filter, skip, limit, |entry| {
            ids.push(entry.definition.id);
            true
        })
        .expect("a list");
        ids
    };
    let all = Filter::default();
    assert_eq!(list(&all, 0, usize::MAX), ["f", "a", "a", "b", "c"]);
    assert_eq!(list(&all, 1, 2), ["a", "a"]);
    assert_eq!(list(&all, 5, 2), Vec::<String>::new());
    let files = Filter { uri: Some("FILES".into()), ..Filter::default() };
    assert_eq!(list(&files, 0, 10), ["f", "a"]);
    assert_eq!(list(&files, 1, 10), ["a"]);
    assert_eq!(list(&files, 0, 1), ["f"]);
    assert_eq!(
        (view.count(None, &files).expect("a count"), view.count(None, &all).expect("a count")),
        (2, 5)
    );
}
