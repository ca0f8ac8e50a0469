//! Storage failures are reported with their remedy, and never as success.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redb::{Database, TableDefinition};
use weir_route::RouteDefinition;
use weir_store::{Encoded, FILE_NAME, Options, StorageBackend, Store, StoreErrorKind};

/// A file in memory whose writes and syncs fail with an error number when told to.
#[derive(Clone, Debug, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Error number of writes; 0 is none.
    write_errno: Arc<AtomicI32>,
    /// Error number of syncs; 0 is none.
    sync_errno: Arc<AtomicI32>,
}

impl Disk {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failing(errno: &AtomicI32) -> io::Result<()> {
    match errno.load(Ordering::SeqCst) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        out.copy_from_slice(&self.bytes()[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        failing(&self.write_errno)?;
        self.bytes().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        failing(&self.sync_errno)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        failing(&self.write_errno)?;
        let start = offset as usize;
        self.bytes()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}

fn route(id: &str) -> Encoded {
    let route = RouteDefinition { id: id.into(), uri: "http://x".into(), ..Default::default() };
    Encoded::new(&route).expect("encodes")
}

fn check_fails(fail: impl Fn(&Disk, i32), errno: i32, kind: StoreErrorKind) {
    let disk = Disk::default();
    let layer = disk.clone();
    let store = Store::open_over(Options::default(), move || layer.clone()).expect("a store");
    store.commit(|change| change.put(&route("a"))).expect("a write");
    fail(&disk, errno);
    let error = store.commit(|change| change.put(&route("b"))).expect_err("must fail");
    assert_eq!(error.kind, kind, "{error}");
    let error = store.commit(|change| change.put(&route("b"))).expect_err("stays closed");
    assert_eq!(error.doing, "use");
    fail(&disk, 0);
    store.reopen().expect("opens again");
    assert!(store.slot_of("a").expect("a look-up").is_some());
    store.commit(|change| change.put(&route("c"))).expect("a write");
    assert!(store.slot_of("c").expect("a look-up").is_some());
}

#[test]
fn no_space_and_broken_devices_are_told_apart_and_recovered_from() {
    let write = |disk: &Disk, errno| disk.write_errno.store(errno, Ordering::SeqCst);
    let sync = |disk: &Disk, errno| disk.sync_errno.store(errno, Ordering::SeqCst);
    let (eio, enospc, edquot) = (5, 28, 122);
    check_fails(write, enospc, StoreErrorKind::Full);
    check_fails(write, edquot, StoreErrorKind::Full);
    check_fails(write, eio, StoreErrorKind::Io);
    check_fails(sync, eio, StoreErrorKind::Io);
    check_fails(sync, enospc, StoreErrorKind::Full);
}

#[test]
fn a_second_process_is_kept_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let _first = Store::open(directory.path(), Options::default()).expect("a store");
    let error = Store::open(directory.path(), Options::default()).err().expect("is locked");
    assert_eq!(error.kind, StoreErrorKind::Locked);
    assert!(error.remedy().contains("--data"));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "x").expect("a file");
    let error = Store::open(&file, Options::default()).err().expect("not a directory");
    assert_eq!((error.kind, error.doing), (StoreErrorKind::Io, "create"));
    assert!(error.to_string().contains("file"));
}

fn check_damage(damage: impl Fn(&mut Vec<u8>)) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(FILE_NAME);
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    store.commit(|change| change.put(&route("a"))).expect("a write");
    drop(store);
    let mut bytes = fs::read(&path).expect("the file");
    damage(&mut bytes);
    fs::write(&path, bytes).expect("the damage");
    let error = Store::open(directory.path(), Options::default()).err().expect("is damaged");
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
}

#[test]
fn a_damaged_file_is_refused_without_a_panic() {
    check_damage(|bytes| *bytes = b"routes:\n  - id: a\n".to_vec());
    check_damage(|bytes| bytes.truncate(100));
    check_damage(|bytes| bytes.truncate(8192));
    check_damage(|bytes| bytes[..64].fill(0xff));
    check_damage(|bytes| bytes[64..512].fill(0xff));
}

#[test]
fn a_newer_layout_is_refused_with_its_number() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(FILE_NAME);
    {
        let database = Database::create(&path).expect("a database");
        let change = database.begin_write().expect("a change");
        let meta: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
        change.open_table(meta).expect("a table").insert("format", 2).expect("a number");
        change.commit().expect("a commit");
    }
    let error = Store::open(directory.path(), Options::default()).err().expect("is newer");
    assert_eq!(error.kind, StoreErrorKind::Newer);
    assert!(error.detail.contains("format 2"), "{error}");
}

#[test]
fn a_record_of_a_newer_format_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(FILE_NAME);
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    store.commit(|change| change.put(&route("a"))).expect("a write");
    drop(store);
    {
        let database = Database::create(&path).expect("a database");
        let change = database.begin_write().expect("a change");
        let routes: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("routes");
        let newer: &[u8] = &[2, 0, 0];
        change.open_table(routes).expect("a table").insert(0, newer).expect("a record");
        change.commit().expect("a commit");
    }
    let store = Store::open(directory.path(), Options::default()).expect("a store");
    let error = store.scan::<weir_store::StoreError>(0..9, |_| Ok(())).expect_err("is newer");
    assert_eq!(error.kind, StoreErrorKind::Newer);
    assert!(error.detail.contains("record 0"), "{error}");
}
