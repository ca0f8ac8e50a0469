//! Plans as JMeter 5 writes them, and refused ones.

use super::super::{Format, Given, plan};
use crate::arrival::{Arrival, Think};
use crate::plan_file::PlanFile;

/// Seed 004: 3,000 threads, two loops, one second.
const STORM: &str = include_str!("storm.jmx");

fn imported(text: &str) -> String {
    plan(Format::Jmx, text, &Given::default()).unwrap_or_else(|error| format!("{error:#}"))
}

#[test]
fn the_storm_of_seed_004_is_understood() {
    let yaml = imported(STORM);
    insta::assert_snapshot!(yaml);
    let (plan, _) = PlanFile::parse(&yaml).unwrap().compile(".".as_ref()).unwrap();
    let Arrival::Users(users) = plan.arrival else { panic!("{yaml}") };
    assert_eq!((users.count, users.ramp_s, users.loops), (3000, 1.0, Some(2)));
    assert_eq!(users.think, Think::Uniform(0.1, 0.3));
    assert_eq!(plan.requests[0].think, Think::Constant(0.1));
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let cases = [
        ("ConstantTimer", "CookieManager", "CookieManager \"Pause\": it is not understood"),
        ("ThreadGroup.ramp_time", "ThreadGroup.warp_time", "line 11: ThreadGroup.warp_time of"),
        ("\">continue<", "\">stopthread<", "only 'continue' is taken, not 'stopthread'"),
        (">2</stringProp>", ">-1</stringProp>", "loops without end need a duration"),
        (">$.id<", ">$..id<", "'$..id' is not taken"),
        (">8</intProp>", ">6</intProp>", "a test of kind 6"),
        ("HTTPSamplerProxy", "FTPSampler", "FTPSampler \"First\": it is not understood"),
        (">http<", ">https<", "only 'http' is taken, not 'https'"),
    ];
    for (from, to, expected) in cases {
        assert!(STORM.contains(from), "{from}");
        let got = imported(&STORM.replace(from, to));
        assert!(got.contains(expected), "{from} -> {to}: {got}");
    }
}

#[test]
fn a_disabled_element_is_left_out_with_what_is_below_it() {
    let text = STORM.replacen(
        "testname=\"Second\" enabled=\"true\"",
        "testname=\"Second\" enabled=\"false\"",
        1,
    );
    let yaml = imported(&text);
    assert!(!yaml.contains("Second") && yaml.contains("First"), "{yaml}");
}
