//! A pipeline of bytes: a connection to an upstream for each from a client.

use std::sync::Arc;

use weir_balance::Group;
use weir_wire::{HELLO_BYTES_MAX, client_hello};

use super::balance::connect;
use super::counters::PipelineCounters;
use super::near::{Cut, Near};
use super::relay;
use super::turn::turn;

/// Serves a connection to its end.
pub(super) async fn serve(near: &mut Near, counters: &PipelineCounters) -> Result<(), Cut> {
    let _turn = turn(near).await?;
    let group = way(near).await?;
    let mut far = connect(near, &group).await?;
    let introduction = near.introduction();
    near.carry.put_back(&introduction);
    relay::both_ways(near, &mut far, counters).await
}

/// The upstream group of a connection, by its TLS ClientHello if the routes need it.
async fn way(near: &mut Near) -> Result<Arc<Group>, Cut> {
    let pipeline = Arc::clone(&near.pipeline);
    if pipeline.routes.is_empty() {
        return Ok(Arc::clone(&pipeline.upstream));
    }
    let until_ms = near.hello_until_ms();
    let hello = loop {
        match client_hello(near.carry.as_slice()) {
            Ok(Some(hello)) => break Some(hello),
            Ok(None) if near.carry.len() < HELLO_BYTES_MAX => near.more(until_ms).await?,
            Ok(None) | Err(_) => break None,
        }
    };
    // A connection without TLS matches no route.
    let group = hello.map_or(&pipeline.upstream, |hello| {
        let protocols: Vec<&[u8]> = hello.protocols.iter().map(Vec::as_slice).collect();
        pipeline.way_of_hello(hello.server_name.as_deref(), &protocols)
    });
    if group.is_empty() { Err(Cut::Denied) } else { Ok(Arc::clone(group)) }
}
