//! Wire cases: bytes on a client's connection, and what must become of them. `tests/wire/README.md`
//! describes their form.

mod case;
mod stage;

pub use case::{Case, Cases, read};
pub use stage::{Cut, Deviation, Judgement, Stage, answering};
