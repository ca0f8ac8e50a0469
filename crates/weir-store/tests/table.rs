//! Content and order of the store.

use weir_route::RouteDefinition;
use weir_store::{AuditAction, AuditEntry, Encoded, Options, Put, Store, StoreError};

fn route(id: &str, uri: &str) -> Encoded {
    let route = RouteDefinition { id: id.into(), uri: uri.into(), ..Default::default() };
    Encoded::new(&route).expect("encodes")
}

fn put(store: &Store, id: &str, uri: &str) -> Put {
    store.commit(|change| change.put(&route(id, uri))).expect("a write")
}

fn all(store: &Store) -> Vec<(u64, String, String)> {
    let mut found = Vec::new();
    store
        .scan::<StoreError>(0..u64::MAX, |stored| {
            let definition = stored.definition().expect("a definition");
            found.push((stored.slot, definition.id, definition.uri));
            Ok(())
        })
        .expect("a scan");
    found
}

fn entry(revision: u64) -> AuditEntry {
    AuditEntry {
        at_ms: 5,
        who: "127.0.0.1".into(),
        action: AuditAction::Create,
        ids: vec!["a".into()],
        count: 1,
        revision,
    }
}

#[test]
fn an_overwritten_route_keeps_its_place_and_a_new_one_goes_last() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    let first = put(&store, "a", "http://1");
    put(&store, "b", "http://2");
    assert_eq!(first, Put { slot: 0, revision: 1, replaced: false });
    assert_eq!(put(&store, "a", "http://3"), Put { slot: 0, revision: 3, replaced: true });
    assert_eq!(store.commit(|change| change.delete("a")).expect("a delete"), Some(0));
    assert_eq!(store.commit(|change| change.delete("a")).expect("a delete"), None);
    put(&store, "a", "http://4");
    let expected = [(1, "b".into(), "http://2".into()), (2, "a".into(), "http://4".into())];
    assert_eq!(all(&store), expected);
    assert_eq!(store.revision().expect("a revision"), 5);
    assert_eq!(store.slots().expect("slots"), 1..3);
    assert_eq!(store.slot_of("a").expect("a look-up"), Some(2));
    drop(store);
    let store = Store::open(directory.path(), Options::default()).expect("the store again");
    assert_eq!(all(&store), expected);
    assert_eq!(put(&store, "c", "http://5").slot, 3);
}

#[test]
fn a_failed_change_leaves_nothing_and_the_store_opens_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    put(&store, "a", "http://1");
    let failed: Result<(), StoreError> = store.commit(|change| {
        change.put(&route("b", "http://2"))?;
        change.delete("a")?;
        Err(Store::open(std::path::Path::new("/proc/none"), Options::default())
            .err()
            .expect("no store there"))
    });
    assert!(failed.is_err());
    assert!(store.is_closed());
    assert!(store.len().is_err());
    store.reopen().expect("opens again");
    assert_eq!(all(&store), [(0, "a".into(), "http://1".into())]);
}

#[test]
fn a_change_sees_what_it_wrote() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    store
        .commit(|change| {
            assert!(change.is_empty()?);
            assert_eq!(change.find("a")?, None);
            change.put(&route("a", "http://1"))?;
            assert_eq!(change.find("a")?, Some((0, 1)));
            assert_eq!((change.len()?, change.revision()), (1, 1));
            Ok(())
        })
        .expect("a commit");
}

#[test]
fn pick_finds_what_exists_in_the_order_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    for id in ["a", "b", "c"] {
        put(&store, id, "http://1");
    }
    let mut found = Vec::new();
    store
        .pick::<StoreError>([2, 9, 0], |stored| {
            found.push(stored.slot);
            Ok(())
        })
        .expect("a pick");
    assert_eq!(found, [2, 0]);
}

#[test]
fn the_audit_log_is_bounded_and_newest_first() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options { audit_entries_max: 3, ..Options::default() };
    let store = Store::open(directory.path(), options).expect("a store");
    for revision in 1..=5 {
        store.commit(|change| change.record(&entry(revision))).expect("a record");
    }
    let revisions = |before, count| -> Vec<u64> {
        let entries = store.audit(before, count).expect("the log");
        entries.iter().map(|(_, entry)| entry.revision).collect()
    };
    assert_eq!(revisions(None, 10), [5, 4, 3]);
    assert_eq!(revisions(None, 1), [5]);
    assert_eq!(revisions(Some(5), 10), [4, 3]);
    assert_eq!(store.audit(None, 1).expect("the log").first(), Some(&(5, entry(5))));
}

#[test]
fn definitions_are_kept_by_name_beside_the_routes() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    assert_eq!(store.api("a"), Ok(None));
    assert_eq!(store.apis_revision(), Ok(0));
    let put = |name: &str, text: &str| {
        store.commit(|change| change.put_api(name, text.as_bytes())).expect("a write")
    };
    assert_eq!((put("b", "1"), put("a", "2"), put("b", "3")), (1, 2, 3));
    assert_eq!(store.api("b"), Ok(Some((3, b"3".to_vec()))));
    assert_eq!(store.revision(), Ok(0), "no route has changed");
    drop(store);
    let store = Store::open(directory.path(), Options::default()).expect("the store again");
    let mut seen = Vec::new();
    let listed = store.scan_apis::<StoreError>(|api| {
        seen.push((api.name.to_owned(), api.revision, api.bytes.to_vec()));
        Ok(())
    });
    listed.expect("a scan");
    assert_eq!(seen, [("a".into(), 2, b"2".to_vec()), ("b".into(), 3, b"3".to_vec())]);
    assert_eq!(store.commit(|change| change.delete_api("b")), Ok(true));
    assert_eq!(store.commit(|change| change.delete_api("b")), Ok(false));
    assert_eq!(store.api("b"), Ok(None));
}
