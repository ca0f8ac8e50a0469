//! The actuator and route API.

mod control;

pub use control::{
    Batch, Compile, Condition, Control, Done, Entry, Filter, Loaded, Problem, Refusal,
    STORE_POSITION, View,
};
