//! weir as an instance in Zookeeper: an ephemeral node that lasts as long as the session.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Mutex;
use weir_snapshot::{Discovery, Zookeeper as Settings};
use weir_wire::zookeeper::{NO_NODE, NODE_EXISTS, Request};

use super::node::Own;
use super::session::{Session, chroot, joined, refused, servers};
use crate::discovery::here::{Here, host_name, own_address};
use crate::http::{Failure, Looked};

/// Longest answer to a registration.
const BYTES_MAX: usize = 1 << 20;

/// Membership of a Zookeeper registry.
#[derive(Clone, Debug)]
pub(in crate::discovery) struct Membership {
    settings: Settings,
    path: String,
    data: Vec<u8>,
    session: Arc<Mutex<Option<Session>>>,
}

impl Membership {
    /// What `discovery` asks for.
    pub fn new(discovery: &Discovery, here: Here) -> Self {
        let own = &discovery.zookeeper;
        let server = servers(&own.servers).first().map(|server| format!("http://{server}/"));
        let ip =
            || own.ip.clone().unwrap_or_else(|| own_address(server.as_ref(), here).to_string());
        let address = match (&own.host, own.prefer_ip) {
            (_, true) => ip(),
            (Some(host), false) => host.clone(),
            (None, false) => host_name(),
        };
        // A name of a node must not have another one below it.
        let plain = |text: &str| text.replace('/', "-");
        let id = plain(&own.instance_id.clone().unwrap_or_else(new_id));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let data = Own {
            name: &discovery.application,
            id: &id,
            address: &address,
            port: own.port.unwrap_or(here.address.port()),
            ssl_port: own.ssl_port,
            status: &own.status,
            metadata: &own.metadata,
            uri_spec: &own.uri_spec,
            now_ms: u64::try_from(now.as_millis()).unwrap_or_default(),
        };
        let below = chroot(&own.servers);
        Self {
            path: joined(&[&below, &own.root, &plain(&discovery.application), &id]),
            data: data.json().to_string().into_bytes(),
            settings: own.clone(),
            session: Arc::default(),
        }
    }

    /// Registers in a new session.
    pub async fn join(&self) -> Looked<()> {
        let mut place = self.session.lock().await;
        *place = None;
        let mut session = Session::open(&self.settings, BYTES_MAX).await?;
        let above: Vec<&str> =
            self.path.match_indices('/').filter_map(|(end, _)| self.path.get(..end)).collect();
        let above = above.iter().filter(|path| !path.is_empty());
        let create = |path, data, is_ephemeral| Request::Create { path, data, is_ephemeral };
        let mut requests: Vec<_> = above.map(|path| create(path, &[], false)).collect();
        // One of a session that is over, but has not expired yet.
        requests.push(Request::Delete(&self.path));
        requests.push(create(&self.path, &self.data, true));
        let codes: Vec<i32> =
            session.ask(&requests).await?.into_iter().map(|(code, _)| code).collect();
        for (request, code) in requests.iter().zip(codes) {
            match (request, code) {
                (_, 0) | (Request::Delete(_), NO_NODE) => {}
                (Request::Create { is_ephemeral: false, .. }, NODE_EXISTS) => {}
                (_, code) => return Err(refused(&self.path, code)),
            }
        }
        *place = Some(session);
        Ok(())
    }

    /// Keeps the session for as long as it lasts.
    pub async fn keep(&self) -> Failure {
        match &mut *self.session.lock().await {
            Some(session) => session.keep().await,
            None => Failure::Unreachable("there is no session".to_owned()),
        }
    }

    /// Takes the node out.
    pub async fn leave(&self) -> Looked<()> {
        match self.session.lock().await.take() {
            Some(session) => session.close().await,
            // Nothing was registered, or the server drops it.
            None => Ok(()),
        }
    }
}

/// A random UUID, as Curator names instances.
fn new_id() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    let chance = || RandomState::new().build_hasher().finish();
    let bits = (u128::from(chance()) << 64) | u128::from(chance());
    // Version 4, variant 1 (RFC 9562 section 5.4).
    let bits = bits & !(0xf000 << 64) & !(0xc000 << 48) | (0x4000 << 64) | (0x8000 << 48);
    let hex = format!("{bits:032x}");
    let parts =
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_paths() {
        let id = new_id();
        let at = |place: usize| id.as_bytes()[place];
        assert_eq!((id.len(), at(8), at(14)), (36, b'-', b'4'), "{id}");
        assert!(b"89ab".contains(&at(19)), "{id}");
        let mut settings = Discovery { application: "a/b".into(), ..Discovery::default() };
        settings.zookeeper.servers = "h:1/top".into();
        settings.zookeeper.instance_id = Some("7".into());
        settings.zookeeper.host = Some("gate".into());
        let here = Here { address: ([10, 0, 0, 5], 8080).into(), management: None };
        let member = Membership::new(&settings, here);
        assert_eq!(member.path, "/top/services/a-b/7");
        let data = String::from_utf8(member.data).expect("text");
        assert!(data.contains(r#""address":"gate","port":8080,"sslPort":null"#), "{data}");
    }
}
