//! Host names to addresses, remembered for a while by each worker.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use hashbrown::HashMap;
use weir_filter::Target;

/// How long an answer is cached.
const TTL_MS: u64 = 5_000;
/// Names remembered at most; beyond, all are forgotten.
const NAMES_MAX: usize = 10_000;

#[derive(Debug)]
struct Answer {
    addresses: Rc<[SocketAddr]>,
    until_ms: u64,
}

/// Remembers the addresses of names. The last good answer serves on while a name fails to resolve.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    names: RefCell<HashMap<(String, u16), Answer>>,
}

impl Resolver {
    /// The addresses of `target`, at least one.
    ///
    /// # Errors
    /// The name does not resolve and never did.
    pub(crate) async fn resolve(
        &self,
        target: &Target,
        now_ms: u64,
    ) -> io::Result<Rc<[SocketAddr]>> {
        if let Some(address) = literal(target) {
            return Ok(Rc::new([address]));
        }
        let key = (target.host.clone(), target.port);
        let known = {
            let names = self.names.borrow();
            names.get(&key).map(|answer| (Rc::clone(&answer.addresses), answer.until_ms))
        };
        if let Some((addresses, until_ms)) = &known
            && *until_ms > now_ms
        {
            return Ok(Rc::clone(addresses));
        }
        let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await;
        let found: io::Result<Vec<SocketAddr>> = found.map(Iterator::collect);
        match (found, known) {
            (Ok(list), _) if !list.is_empty() => Ok(self.remember(key, list, now_ms)),
            (_, Some((addresses, _))) => Ok(addresses),
            (Err(error), None) => Err(error),
            (Ok(_), None) => Err(io::Error::new(io::ErrorKind::NotFound, "no address")),
        }
    }

    fn remember(&self, key: (String, u16), list: Vec<SocketAddr>, now_ms: u64) -> Rc<[SocketAddr]> {
        let addresses: Rc<[SocketAddr]> = list.into();
        let mut names = self.names.borrow_mut();
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        let answer = Answer { addresses: Rc::clone(&addresses), until_ms: now_ms + TTL_MS };
        names.insert(key, answer);
        addresses
    }
}

fn literal(target: &Target) -> Option<SocketAddr> {
    let host = target.host.trim_start_matches('[').trim_end_matches(']');
    let ip = host.parse().ok()?;
    Some(SocketAddr::new(ip, target.port))
}
