//! A pipeline of bytes: a connection to an upstream for each from a client.

use std::sync::Arc;

use super::balance::connect;
use super::near::{Cut, Near};
use super::relay;
use super::set::PipelineCounters;
use super::turn::turn;

/// Serves a connection to its end.
pub(super) async fn serve(near: &mut Near, counters: &PipelineCounters) -> Result<(), Cut> {
    let _turn = turn(near).await?;
    let group = Arc::clone(&near.pipeline.upstream);
    let mut far = connect(near, &group).await?;
    relay::both_ways(near, &mut far, counters).await
}
