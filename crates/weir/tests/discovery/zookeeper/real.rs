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
    process: Option<Child>,
}

impl Real {
    /// Starts it; `None`, which is said, where it is not installed.
    pub fn start() -> Option<Self> {
        let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
        if !Path::new(PROGRAM).exists() || !java.is_ok_and(|status| status.success()) {
            eprintln!("left out: zookeeper: it needs the packages zookeeper and a Java runtime");
            return None;
        }
        let address = weir_testkit::closed_port();
        let folder = tempfile::tempdir().expect("a folder");
        let mut server = Self { address, folder, process: None };
        server.start();
        drop(Nodes::of(address));
        Some(server)
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
             admin.enableServer=false\n",
            folder.join("data").display(),
            self.address.port(),
            self.address.ip(),
        );
        std::fs::write(folder.join("zoo.cfg"), config).expect("a file");
        let process = Command::new("java")
            .args(["-Xmx128m", "-cp", PROGRAM, "org.apache.zookeeper.server.ZooKeeperServerMain"])
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
