//! A small server that plays Zookeeper: nodes, ephemeral ones too, and watches. Sessions end with
//! their connection.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use weir_wire::zookeeper::{NO_AUTH, NO_NODE, NODE_EXISTS};

use super::Server;

/// Nodes and who watches them.
#[derive(Debug, Default)]
struct Tree {
    /// Data by path, and the session that the node ends with.
    nodes: BTreeMap<String, (Vec<u8>, Option<i64>)>,
    /// Whether its children are watched, or itself.
    watches: Vec<(bool, String, TcpStream)>,
    sessions: i64,
    /// Credentials of sessions.
    users: BTreeMap<i64, Vec<u8>>,
    /// Nodes that only sessions with these credentials may read.
    locked: BTreeMap<String, Vec<u8>>,
}

/// A server.
pub struct Played {
    address: SocketAddr,
    tree: Arc<Mutex<Tree>>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    stopped: Arc<AtomicBool>,
}

impl Played {
    /// Starts it on a free port.
    pub fn start() -> Self {
        Self::of(Arc::default())
    }

    /// Starts several with the same nodes.
    pub fn ensemble(count: usize) -> Vec<Self> {
        let tree = Arc::<Mutex<Tree>>::default();
        (0..count).map(|_| Self::of(Arc::clone(&tree))).collect()
    }

    fn of(tree: Arc<Mutex<Tree>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (connections, stopped) = (Arc::default(), Arc::default());
        let played = Self { address, tree, connections, stopped };
        played.listen(listener);
        played
    }

    fn listen(&self, listener: TcpListener) {
        let (tree, stopped) = (Arc::clone(&self.tree), Arc::clone(&self.stopped));
        let connections = Arc::clone(&self.connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let tree = Arc::clone(&tree);
                let own = stream.try_clone().expect("a socket");
                connections.lock().expect("no panic").push(own);
                std::thread::spawn(move || serve(stream, &tree));
            }
        });
    }
}

impl Server for Played {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn stop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // What is accepted next ends the listener.
        drop(TcpStream::connect(self.address));
        for stream in std::mem::take(&mut *self.connections.lock().expect("no panic")) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Bound anew once the listener is gone, and let go of again.
        while TcpListener::bind(self.address).is_err() {
            std::thread::yield_now();
        }
    }

    fn start(&mut self) {
        self.stopped = Arc::default();
        self.listen(TcpListener::bind(self.address).expect("the same port"));
    }
}

impl Tree {
    /// Tells those who watch `path`, once.
    fn tell(&mut self, are_children: bool, path: &str) {
        let event = [&[0xff; 12][..], &[0; 4], &4_i32.to_be_bytes(), &3_i32.to_be_bytes()].concat();
        let event = framed(&[event, text(path)].concat());
        self.watches.retain_mut(|(kind, watched, stream)| {
            let is_meant = *kind == are_children && watched == path;
            if is_meant {
                let _ = stream.write_all(&event);
            }
            !is_meant
        });
    }

    fn tell_all(&mut self, path: &str) {
        self.tell(false, path);
        self.tell(true, parent(path));
    }

    fn remove(&mut self, path: &str) -> bool {
        let is_there = self.nodes.remove(path).is_some();
        self.tell_all(path);
        is_there
    }

    fn end(&mut self, session: i64) {
        let own = self.nodes.iter().filter(|(_, (_, owner))| *owner == Some(session));
        for path in own.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.remove(&path);
        }
    }

    /// Code and body of the answer.
    fn answer(
        &mut self,
        operation: i32,
        rest: &[u8],
        session: i64,
        to: &TcpStream,
    ) -> (i32, Vec<u8>) {
        let mut rest = rest;
        let path = match operation {
            1..=8 => String::from_utf8(bytes(&mut rest)).expect("a path"),
            _ => String::new(),
        };
        let is_there = self.nodes.contains_key(&path);
        let stat = vec![0; 68];
        match operation {
            1 if is_there => (NODE_EXISTS, Vec::new()),
            1 if !parent(&path).is_empty() && !self.nodes.contains_key(parent(&path)) => {
                (NO_NODE, Vec::new())
            }
            1 => {
                let data = bytes(&mut rest);
                let owner = rest.ends_with(&[1]).then_some(session);
                self.nodes.insert(path.clone(), (data, owner));
                self.tell_all(&path);
                (0, text(&path))
            }
            7 => {
                self.locked.insert(path, self.users.get(&session).cloned().unwrap_or_default());
                (0, stat)
            }
            4 | 8
                if self
                    .locked
                    .get(&path)
                    .is_some_and(|own| self.users.get(&session) != Some(own)) =>
            {
                (NO_AUTH, Vec::new())
            }
            100 => {
                // A type that is unused, and the scheme.
                rest = &rest[4..];
                bytes(&mut rest);
                self.users.insert(session, bytes(&mut rest));
                (0, Vec::new())
            }
            2 => (if self.remove(&path) { 0 } else { NO_NODE }, Vec::new()),
            3 | 4 | 8 => {
                if is_there || operation == 3 {
                    let stream = to.try_clone().expect("a socket");
                    self.watches.push((operation == 8, path.clone(), stream));
                }
                let Some((data, _)) = self.nodes.get(&path) else { return (NO_NODE, Vec::new()) };
                match operation {
                    3 => (0, stat),
                    4 => (0, [length(data.len()), data.clone(), stat].concat()),
                    _ => {
                        let own = self.nodes.keys().filter(|one| parent(one) == path);
                        let names: Vec<_> = own.map(|one| text(&one[path.len() + 1..])).collect();
                        (0, [length(names.len()), names.concat()].concat())
                    }
                }
            }
            _ => (0, Vec::new()),
        }
    }
}

fn serve(stream: TcpStream, tree: &Mutex<Tree>) {
    let Some(_) = read(&stream) else { return };
    let session = {
        let mut tree = tree.lock().expect("no panic");
        tree.sessions += 1;
        tree.sessions
    };
    let granted = [length(0), length(2_000), session.to_be_bytes().to_vec(), text(&"p".repeat(16))];
    let mut out = &stream;
    let mut is_open = out.write_all(&framed(&[granted.concat(), vec![0]].concat())).is_ok();
    while is_open {
        let Some(request) = read(&stream) else { break };
        let number = &request[..4];
        let operation = i32::from_be_bytes(request[4..8].try_into().expect("four bytes"));
        // Answers and events in one order, as one session has them.
        let mut tree = tree.lock().expect("no panic");
        if operation == -11 {
            tree.end(session);
        }
        let (code, body) = tree.answer(operation, &request[8..], session, &stream);
        let answer = [number, &[0; 8], &code.to_be_bytes(), &body].concat();
        is_open = out.write_all(&framed(&answer)).is_ok();
    }
    tree.lock().expect("no panic").end(session);
}

/// One request, without its length.
fn read(mut stream: &TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut request = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut request).ok()?;
    Some(request)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Takes bytes with their length in front.
fn bytes(rest: &mut &[u8]) -> Vec<u8> {
    let (length, behind) = rest.split_first_chunk().expect("a length");
    let (own, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
    *rest = behind;
    own.to_vec()
}

fn length(count: usize) -> Vec<u8> {
    u32::try_from(count).expect("a length").to_be_bytes().to_vec()
}

fn text(text: &str) -> Vec<u8> {
    [length(text.len()), text.as_bytes().to_vec()].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [length(message.len()), message.to_vec()].concat()
}
