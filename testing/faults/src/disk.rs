//! A disk that fails or is full.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_testkit::{Client, Gateway, Origin, PATIENCE};

use crate::tally::{Size, Tally};
use crate::weir::{Weir, config, route_ids};

/// System calls that write a store and make it durable.
const CALLS: &str = "pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate";

/// ENOSPC and EIO at every write: route changes are answered with 5xx and never as done, traffic
/// goes on, and changes work again after the fault. The served routes equal those after a restart.
pub(crate) async fn failing(weir: Weir, size: Size) -> Tally {
    let origin = Origin::start().await;
    let mut tally = Tally::default();
    for _ in 0..size.of(1, 10) {
        for (errno, calls) in
            [("ENOSPC", CALLS), ("EIO", CALLS), ("EIO", "fsync,fdatasync"), ("ENOSPC", "pwrite64")]
        {
            let mut gateway = weir.before(origin.address(), "");
            tally.request(put(&gateway, "before").await == 201, || "before any fault".to_owned());
            let fault = match Fault::inject(&gateway, calls, errno) {
                Ok(fault) => fault,
                Err(why) => return Tally { skipped: Some(why), ..tally },
            };
            for id in ["a", "b", "c"] {
                let status = put(&gateway, id).await;
                tally.request(status >= 500, || format!("{errno} at {calls}: {status}"));
            }
            let mut client = Client::connect(gateway.address()).await;
            let status = client.get("/").await.status;
            tally.request(status == 200, || format!("traffic got {status}"));
            fault.lift();
            let status = put(&gateway, "after").await;
            tally.request(status == 201, || format!("{status} after {errno} at {calls}"));
            let serves = ids(&gateway).await;
            let lost = ["before", "after"].into_iter().find(|id| !serves.contains(&(*id).into()));
            tally.check(lost.is_none(), || format!("{lost:?} is not in {serves:?}"));
            gateway.kill();
            let again = restarted(&weir, &gateway, &origin);
            let found = ids(&again).await;
            tally.check(found == serves, || format!("{found:?} after a restart, not {serves:?}"));
        }
    }
    tally
}

/// Another gateway over the same store.
fn restarted(weir: &Weir, killed: &Gateway, origin: &Origin) -> Gateway {
    let mut command = Command::new(weir.path());
    command.env("WEIR_STORE_PATH", killed.directory().join("weir-data"));
    let text = config(origin.address(), "");
    Gateway::launch(command, &["run", "{config}"], &[("weir.yaml", text.as_bytes())])
}

async fn put(gateway: &Gateway, id: &str) -> u16 {
    let body = r#"{"uri":"http://x","predicates":[{"name":"Path","args":{"patterns":"/x"}}]}"#;
    let mut admin = Client::connect(gateway.admin()).await;
    let request = format!(
        "POST /actuator/gateway/routes/{id} HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    admin.exchange(request).await.status
}

/// The ids of the routes that serve, in order.
async fn ids(gateway: &Gateway) -> Vec<String> {
    let mut admin = Client::connect(gateway.admin()).await;
    let request = "GET /actuator/gateway/routes HTTP/1.1\r\nHost: localhost\r\n\r\n";
    route_ids(&admin.exchange(request).await.text())
}

/// System calls of a gateway that fail, as long as this lives.
struct Fault(Child);

impl Fault {
    /// Makes `calls` of the gateway fail with `errno`; returns the reason if that is impossible
    /// here.
    fn inject(gateway: &Gateway, calls: &str, errno: &str) -> Result<Self, String> {
        let strace = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null"])
            .args(["-e", &format!("trace={calls}")])
            .args(["-e", &format!("inject={calls}:error={errno}")])
            .args(["-p", &gateway.pid().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut strace = strace.map_err(|error| format!("there is no strace: {error}"))?;
        let since = Instant::now();
        while !is_traced(gateway) {
            if let Ok(Some(status)) = strace.try_wait() {
                return Err(format!("strace may not trace here: {status}"));
            }
            assert!(since.elapsed() < PATIENCE, "strace does not attach");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self(strace))
    }

    fn lift(self) {}
}

impl Drop for Fault {
    fn drop(&mut self) {
        // SIGKILL, not SIGTERM: the kernel then releases the traced threads.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether all threads of a gateway are traced.
fn is_traced(gateway: &Gateway) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", gateway.pid())) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim() != "0")
    })
}
