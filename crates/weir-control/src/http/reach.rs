//! Which servers must not be asked, whatever their names say.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpStream, lookup_host};
use weir_snapshot::{is_admin, is_metadata};

use super::failure::Failure;

/// Bounds of where a request may lead. Names are looked up first, so that it is addresses that are
/// judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Where the admin API of this process listens.
    pub admin: Option<SocketAddr>,
    /// Whether it may lead to where machines in clouds get their credentials: not where a client
    /// names the server.
    pub metadata: bool,
}

impl Reach {
    pub(super) async fn connect(self, name: &str, port: u16) -> Result<TcpStream, Failure> {
        let unreachable = |error: io::Error| Failure::Unreachable(error.to_string());
        let mut last = Failure::Unreachable("the name has no address".to_owned());
        for address in lookup_host((name, port)).await.map_err(unreachable)? {
            if let Err(refused) = self.judge(address, None) {
                last = refused;
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let local = stream.local_addr().map_err(unreachable)?;
                    match self.judge(address, Some(local.ip())) {
                        Ok(()) => return Ok(stream),
                        Err(refused) => last = refused,
                    }
                }
                Err(error) => last = unreachable(error),
            }
        }
        Err(last)
    }

    fn judge(self, address: SocketAddr, local: Option<IpAddr>) -> Result<(), Failure> {
        if !self.metadata && is_metadata(address.ip()) {
            let what = "where machines in clouds get their credentials";
            return Err(Failure::OutOfReach(format!("{address}, {what}")));
        }
        if self.admin.is_some_and(|admin| is_admin(admin, address, local)) {
            return Err(Failure::OutOfReach(format!("{address}, the admin API of this gateway")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn where_requests_may_lead() {
        let check = |to: &str, by_client: bool, by_operator: bool| {
            for (metadata, expected) in [(false, by_client), (true, by_operator)] {
                let admin = "127.0.0.1:9090".parse().ok();
                let judged = Reach { admin, metadata }.judge(to.parse().expect("an address"), None);
                assert_eq!(judged.is_ok(), expected, "{to}, metadata: {metadata}");
            }
        };
        check("10.0.0.1:9090", true, true);
        check("127.0.0.1:9091", true, true);
        check("127.0.0.1:9090", false, false);
        check("[::ffff:127.0.0.1]:9090", false, false);
        check("169.254.169.254:80", false, true);
        check("[fd00:ec2::254]:80", false, true);
    }
}
