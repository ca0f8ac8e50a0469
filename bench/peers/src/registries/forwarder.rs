//! A TCP forwarder whose target can change, as the address of a cluster stays when another API
//! server takes over.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A forwarder that lasts as long as this process.
pub(super) struct Forwarder {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    target: SocketAddr,
    open: Vec<TcpStream>,
}

impl Forwarder {
    pub fn start(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State { target, open: Vec::new() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A target that is away closes the connection.
                let _ = connect(client, &shared);
            }
        });
        Ok(Self { address, state })
    }

    /// Cuts all connections; new ones go to `target`.
    pub fn switch(&self, target: SocketAddr) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.target = target;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn connect(client: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let server = TcpStream::connect(state.target)?;
    state.open.extend([client.try_clone()?, server.try_clone()?]);
    drop(state);
    for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
