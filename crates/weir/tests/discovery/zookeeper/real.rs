//! A Zookeeper server of this machine.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Nodes, Server};

/// The program, as Debian's package has it.
const PROGRAM: &str = "/usr/share/java/zookeeper.jar";

/// A process with its folder.
pub struct Real {
    address: SocketAddr,
    folder: tempfile::TempDir,
    /// Further lines of its configuration.
    more: String,
    process: Option<Child>,
}

impl Real {
    /// Starts it; `None`, which is said, where it is not installed.
    pub fn start() -> Option<Self> {
        let mut server = Self::stopped()?;
        server.start();
        drop(Nodes::of(server.address));
        Some(server)
    }

    /// Starts an ensemble.
    pub fn ensemble(count: usize) -> Option<Vec<Self>> {
        let mut servers = (0..count).map(|_| Self::stopped()).collect::<Option<Vec<_>>>()?;
        let port = || weir_testkit::closed_port().port();
        let members: String = (0..count)
            .map(|place| format!("server.{place}=127.0.0.1:{}:{}\n", port(), port()))
            .collect();
        for (place, server) in servers.iter_mut().enumerate() {
            server.more = format!("initLimit=50\nsyncLimit=50\n{members}");
            let data = server.folder.path().join("data");
            std::fs::create_dir(&data).expect("a folder");
            std::fs::write(data.join("myid"), place.to_string()).expect("a file");
            server.start();
        }
        servers.iter().for_each(|server| drop(Nodes::of(server.address)));
        Some(servers)
    }

    fn stopped() -> Option<Self> {
        let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
        if !Path::new(PROGRAM).exists() || !java.is_ok_and(|status| status.success()) {
            eprintln!("left out: zookeeper: it needs the packages zookeeper and a Java runtime");
            return None;
        }
        let address = weir_testkit::closed_port();
        let folder = tempfile::tempdir().expect("a folder");
        Some(Self { address, folder, more: String::new(), process: None })
    }
}

impl Server for Real {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("a process");
            process.wait().expect("its end");
        }
    }

    fn start(&mut self) {
        let folder = self.folder.path();
        let config = format!(
            "tickTime=100\ndataDir={}\nclientPort={}\nclientPortAddress={}\n\
             admin.enableServer=false\n{}",
            folder.join("data").display(),
            self.address.port(),
            self.address.ip(),
            self.more,
        );
        std::fs::write(folder.join("zoo.cfg"), config).expect("a file");
        let process = Command::new("java")
            .args(["-Xmx128m", "-cp", PROGRAM, "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(folder.join("zoo.cfg"))
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(process.expect("a process"));
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
