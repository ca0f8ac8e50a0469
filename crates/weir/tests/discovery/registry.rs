//! A registry whose answers are set by a test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_testkit::{Answer, Origin, Received};

/// The behaviour of a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// Answers normally.
    #[default]
    Well,
    /// Accepts connections and sends nothing.
    Stalled,
    /// Sends an invalid answer.
    Garbage,
}

#[derive(Debug, Default)]
pub struct State {
    pub mood: Mood,
    /// `(service, port, status)` of each instance.
    pub instances: Vec<(String, u16, String)>,
    /// Method and target of every request.
    pub asked: Vec<String>,
    /// Grows with each change.
    pub index: u64,
    /// The time for which a blocking query is held, in milliseconds.
    pub hold_ms: u64,
}

/// A registry; its API is that of the function that made it.
pub struct Registry {
    pub origin: Origin,
    state: Arc<Mutex<State>>,
}

impl Registry {
    /// One that answers as `answer` has it.
    pub async fn start(answer: impl Fn(&Received, &mut State) -> Answer + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State { index: 1, hold_ms: 50, ..State::default() }));
        let own = Arc::clone(&state);
        let origin = Origin::answering(move |received| {
            let mut state = own.lock().unwrap_or_else(PoisonError::into_inner);
            state.asked.push(format!("{} {}", received.method(), received.target()));
            match state.mood {
                Mood::Well => answer(received, &mut state),
                Mood::Stalled => Answer::nothing().rest(weir_testkit::PATIENCE),
                Mood::Garbage => Answer::status(200, &[], "{\"applications\": 7, \"hosts\": 1}"),
            }
        })
        .await;
        Self { origin, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists these instances, all up.
    pub fn list(&self, instances: &[(&str, u16)]) {
        let mut state = self.state();
        let up = |(name, port): &(&str, u16)| ((*name).to_owned(), *port, "UP".to_owned());
        state.instances = instances.iter().map(up).collect();
        state.index += 1;
    }

    /// Whether a request with this start was seen.
    pub fn was_asked(&self, start: &str) -> bool {
        self.state().asked.iter().any(|asked| asked.starts_with(start))
    }
}

/// JSON with status 200.
pub fn json(body: &str) -> Answer {
    Answer::status(200, &["Content-Type: application/json"], body)
}
