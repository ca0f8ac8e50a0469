//! A request allocates nothing: runs of different lengths, in a process whose allocator counts.

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use weir_bench::arrival::{Arrival, Profile, Schedule, Spacing};
use weir_bench::driver::{Watch, run};
use weir_bench::plan::{Plan, Stop};
use weir_bench::target::{Shape, Target};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CONNECTIONS: usize = 8;
/// Requests of the shorter run.
const FEW: u64 = 2_000;
/// The additional requests of the longer run.
const MORE: u64 = 20_000;
/// The permitted number of allocations for these, which occur once a second.
const ALLOWED: usize = MORE as usize / 100;

/// Answers every request, each of which must come in one piece; allocates nothing for it.
fn server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
                    stream.write_all(answer).expect("an answer is taken");
                }
            });
        }
    });
    address
}

/// Allocations of a run of so many requests.
fn allocations(server: SocketAddr, arrival: &Arrival, requests: u64) -> usize {
    let target = Target::parse(&format!("http://{server}/")).expect("a target");
    let shape = Shape {
        method: "GET",
        headers: &[],
        body: None,
        http10: false,
        keep_alive: true,
        defaults: &[],
    };
    let mut plan = Plan::closed(vec![server], target.request(&shape), CONNECTIONS);
    plan.arrival = arrival.clone();
    plan.stop = Stop { requests: Some(requests), after: None };
    let region = Region::new(ALLOCATOR);
    let done = run(&plan, &Arc::new(Watch::default())).expect("a run");
    let change = region.change();
    assert_eq!(done.record.response.len(), requests);
    change.allocations + change.reallocations
}

#[test]
fn requests_allocate_nothing() {
    let server = server();
    let profile = Arc::new(Profile::constant(50_000.0));
    let open = Arrival::Open(Schedule::Paced(profile, Spacing::Even));
    for arrival in [Arrival::Closed, open] {
        let few = allocations(server, &arrival, FEW);
        let many = allocations(server, &arrival, FEW + MORE);
        assert!(many <= few + ALLOWED, "{arrival:?}: {few} and then {many}");
    }
}
