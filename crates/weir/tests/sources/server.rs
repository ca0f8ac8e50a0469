//! A configuration server whose answers are set by a test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_testkit::{Answer, Origin, Received};

/// The state of a server.
#[derive(Debug, Default)]
pub struct State {
    /// Texts by what the server calls them.
    pub texts: BTreeMap<String, String>,
    /// Every request: method, target, and the login it brought.
    pub asked: Vec<String>,
    /// Grows with each change.
    pub index: u64,
    /// Whether it sends invalid answers.
    pub is_broken: bool,
}

/// A server; its API is that of the function that made it.
pub struct Server {
    pub origin: Origin,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// One that answers as `answer` has it.
    pub async fn start(answer: impl Fn(&Received, &State) -> Answer + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State { index: 1, ..State::default() }));
        let own = Arc::clone(&state);
        let origin = Origin::answering(move |received| {
            let mut state = own.lock().unwrap_or_else(PoisonError::into_inner);
            let login = received.field("authorization").unwrap_or_default();
            let asked = format!("{} {} {login}", received.method(), received.target());
            state.asked.push(asked.trim_end().to_owned());
            match state.is_broken {
                true => Answer::status(200, &[], "<html>garbage</html>"),
                false => answer(received, &state),
            }
        })
        .await;
        Self { origin, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has this text under this name from now on.
    pub fn put(&self, name: &str, text: &str) {
        let mut state = self.state();
        state.texts.insert(name.to_owned(), text.to_owned());
        state.index += 1;
    }

    /// Makes it send invalid answers from now on, or valid ones again.
    pub fn is_broken(&self, is_broken: bool) {
        self.state().is_broken = is_broken;
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }
}

/// JSON with status 200.
pub fn json(fields: &[&str], body: &str) -> Answer {
    let mut all = vec!["Content-Type: application/json"];
    all.extend(fields);
    Answer::status(200, &all, body)
}
