//! All scenarios, and the code that runs one.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::runtime::Builder;

use crate::tally::{Size, Tally};
use crate::weir::Weir;
use crate::{
    abort, change, cut, disk, drain, files, instances, kill, oversize, slow, stale, transfer,
    unreachable,
};

/// Time between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// The time after which a scenario counts as hung.
const HANGS_AFTER: Duration = Duration::from_secs(900);

/// A scenario: one fault to provoke.
#[derive(Debug)]
pub struct Scenario {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// The fault provoked, and the expected behaviour.
    pub about: &'static str,
    run: fn(Weir, Size) -> Playing,
}

type Playing = Pin<Box<dyn Future<Output = Tally>>>;

/// Every scenario.
pub static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "refused",
        about: "an upstream that refuses connections: 502 each, the client's connection stays",
        run: |weir, size| Box::pin(unreachable::refused(weir, size)),
    },
    Scenario {
        name: "black-holed",
        about: "an upstream that takes no connection, or takes it and never answers: 504",
        run: |weir, size| Box::pin(unreachable::black_holed(weir, size)),
    },
    Scenario {
        name: "slow-upstreams",
        about: "answers a byte at a time: whole if the head is in time, else 504 and let go",
        run: |weir, size| Box::pin(unreachable::slow(weir, size)),
    },
    Scenario {
        name: "cut-responses",
        about: "a response cut by FIN or RST at every byte is never taken for a whole one",
        run: |weir, size| Box::pin(cut::responses(weir, size)),
    },
    Scenario {
        name: "stale-connections",
        about: "idle upstream connections closing at random: no GET fails, no POST is doubled",
        run: |weir, size| Box::pin(stale::connections(weir, size)),
    },
    Scenario {
        name: "slow-clients",
        about: "heads, bodies and reads at a byte per second: let go, neighbours lose nothing",
        run: |weir, size| Box::pin(slow::clients(weir, size)),
    },
    Scenario {
        name: "aborts",
        about: "clients that leave in any phase: upstream requests cancelled, gauges at zero",
        run: |weir, size| Box::pin(abort::clients(weir, size)),
    },
    Scenario {
        name: "oversize",
        about: "everything that can be too large: its status, a closed connection, no memory",
        run: |weir, size| Box::pin(oversize::everything(weir, size)),
    },
    Scenario {
        name: "files-exhausted",
        about: "more clients than open files: all are served in turn or told, none waits for ever",
        run: |weir, size| Box::pin(files::exhausted(weir, size)),
    },
    Scenario {
        name: "large-transfers",
        about: "large bodies to and from slow ends: whole, at most 2 MiB of memory for each",
        run: |weir, size| Box::pin(transfer::large(weir, size)),
    },
    Scenario {
        name: "route-changes",
        about: "routes change under keep-alive, WebSocket and upload traffic: nothing fails",
        run: |weir, size| Box::pin(change::routes(weir, size)),
    },
    Scenario {
        name: "reloads",
        about: "whole configurations change under the same traffic: nothing fails",
        run: |weir, size| Box::pin(change::configurations(weir, size)),
    },
    Scenario {
        name: "instances-change",
        about: "instances join, leave and are killed: only what was in flight to the killed fails",
        run: |weir, size| Box::pin(instances::come_and_go(weir, size)),
    },
    Scenario {
        name: "drains",
        about: "SIGTERM under load: no request in flight is lost",
        run: |weir, size| Box::pin(drain::under_load(weir, size)),
    },
    Scenario {
        name: "kills",
        about: "kill -9 with concurrent writers: every acknowledged route is there",
        run: |weir, size| Box::pin(kill::with_writers(weir, size)),
    },
    Scenario {
        name: "failing-disk",
        about: "ENOSPC and EIO at every write: 5xx and never as done, and got over",
        run: |weir, size| Box::pin(disk::failing(weir, size)),
    },
];

impl Scenario {
    /// The scenario of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Runs the scenario to its end, or until `interrupted` returns true: then `None`, and the
    /// gateway is stopped. A panic is a failure, and so is a timeout.
    ///
    /// # Panics
    /// If the system gives no runtime.
    pub fn play(&self, weir: &Weir, size: Size, interrupted: impl Fn() -> bool) -> Option<Tally> {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let playing = AssertUnwindSafe((self.run)(weir.clone(), size)).catch_unwind();
            tokio::select! {
                played = tokio::time::timeout(HANGS_AFTER, playing) => Some(match played {
                    Ok(played) => played.unwrap_or_else(|panic| panicked(panic.as_ref())),
                    Err(_) => failed("does not come to an end"),
                }),
                () = until(interrupted) => None,
            }
        })
    }
}

async fn until(interrupted: impl Fn() -> bool) {
    while !interrupted() {
        tokio::time::sleep(LOOK).await;
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Tally {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    failed(text.unwrap_or("a panic without words"))
}

fn failed(why: &str) -> Tally {
    let mut tally = Tally::default();
    tally.check(false, || why.to_owned());
    tally
}
