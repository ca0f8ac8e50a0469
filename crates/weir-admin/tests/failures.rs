//! A failing store: answered with an error, never with success, and recovered from.

mod common;

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use common::http::{Api, rules, start_with};
use common::loaded;
use weir_admin::SiteOptions;
use weir_control::Control;
use weir_store::{Options, StorageBackend, Store};

const ROUTE: &str = "/actuator/gateway/routes/";
const BODY: &str = r#"{"uri":"http://x"}"#;

/// A file in memory whose writes and syncs can be made to fail.
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

    fn api(&self) -> Api {
        let layer = self.clone();
        let store = Store::open_over(Options::default(), move || layer.clone()).expect("a store");
        let control = Control::start(loaded(&[("file", "http://x")]), store).expect("a control");
        let directory = tempfile::tempdir().expect("a directory");
        start_with(control, directory, SiteOptions::admin(rules()))
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

fn put(api: &Api, id: &str) -> u16 {
    api.post(&format!("{ROUTE}{id}"), BODY).status
}

/// The served routes are those of the store, whatever a failed commit left behind.
fn check_agreement(api: Api, disk: &Disk) {
    let serves = common::ids(&api.control);
    assert_eq!(api.ids(), serves);
    let Api { server, control, site, .. } = api;
    drop((server, site, control));
    assert_eq!(common::ids(&disk.api().control), serves);
}

fn check(errno: i32, on_sync: bool, expected: u16) {
    let disk = Disk::default();
    let api = disk.api();
    assert_eq!(put(&api, "before"), 201);
    let errnos = if on_sync { &disk.sync_errno } else { &disk.write_errno };
    errnos.store(errno, Ordering::SeqCst);
    for id in ["a", "b"] {
        let refused = api.post(&format!("{ROUTE}{id}"), BODY);
        assert!(refused.status == expected || refused.status == 503, "{errno} {refused:?}");
    }
    assert!(api.delete(&format!("{ROUTE}before")).status >= 500);
    assert_eq!(api.get("/actuator/health").status, 200);
    assert_eq!(api.get("/actuator/gateway/stats").status, 200);
    // The served routes stay, also while the store is closed.
    assert!(common::ids(&api.control).contains(&"file".to_owned()));
    errnos.store(0, Ordering::SeqCst);
    assert_eq!(api.get(ROUTE.trim_end_matches('/')).status, 200);
    assert_eq!(put(&api, "after"), 201);
    let serves = common::ids(&api.control);
    assert!(serves.contains(&"after".to_owned()) && serves.contains(&"file".to_owned()));
    check_agreement(api, &disk);
}

#[test]
fn a_full_or_broken_disk_is_an_error_and_not_the_end() {
    let (eio, enospc, erofs) = (5, 28, 30);
    check(enospc, false, 507);
    check(enospc, true, 507);
    check(eio, false, 503);
    check(eio, true, 503);
    check(erofs, false, 503);
}
