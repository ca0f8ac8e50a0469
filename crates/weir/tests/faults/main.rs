//! Every failure of `weir-faults`, short.

use weir_faults::{SCENARIOS, Scenario, Size, Weir};

fn check(name: &str) {
    let scenario = Scenario::named(name).expect("a scenario of this name");
    let weir = Weir::new(env!("CARGO_BIN_EXE_weir"));
    let played = scenario.play(&weir, Size::Short, || false);
    let tally = played.expect("nobody interrupts a test");
    if let Some(why) = &tally.skipped {
        eprintln!("{name}: not played: {why}");
    }
    eprintln!("{name}: {} requests, {:?}", tally.requests, tally.worst);
    assert_eq!(tally.failures, 0, "{name}: {}: {:#?}", scenario.about, tally.told);
}

macro_rules! tests {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_scenario_is_tested() {
            let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

tests! {
    refused_upstreams_are_502 "refused"
    black_holed_upstreams_are_504 "black-holed"
    slow_upstreams_are_waited_for_as_long_as_said "slow-upstreams"
    cut_responses_are_seen_as_cut "cut-responses"
    stale_connections_cost_no_get_and_double_no_post "stale-connections"
    slow_clients_are_let_go_and_neighbours_lose_nothing "slow-clients"
    aborts_cancel_upstream_requests "aborts"
    everything_has_a_bound "oversize"
    exhausted_files_are_got_over "files-exhausted"
    large_transfers_hold_no_memory "large-transfers"
    route_changes_cost_no_request "route-changes"
    reloads_cost_no_request "reloads"
    instances_come_and_go_and_cost_no_request "instances-change"
    drains_lose_nothing_in_flight "drains"
    acknowledged_changes_are_there_after_a_kill "kills"
    a_failing_disk_is_never_a_success "failing-disk"
}
