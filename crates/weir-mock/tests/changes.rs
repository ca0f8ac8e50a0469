//! Definitions added and removed one by one are served as if they had all been loaded at once.

mod asked;

use std::sync::Arc;

use asked::Served;
use weir_mock::{Api, Mocks, Mount, Mounted, Options};

const PATHS: &[&str] = &["/a", "/{x}", "/a/{y}", "/{x}/b", "/a/{y}.json", "/a?kind=1", "/c/d/e"];
const ASKED: &[&str] = &["/a", "/a?kind=1", "/z", "/a/b", "/a/b.json", "/z/b", "/c/d/e", "/c/d"];

fn options() -> Options {
    Options { select_header: Some("X-Api".to_owned()), ..Options::default() }
}

/// A definition of some of the paths, by the bits of `dice`.
fn mounted(name: &str, dice: u64) -> Arc<Mounted> {
    let is_chosen = |at: usize| dice >> at & 1 == 1;
    let paths = PATHS.iter().enumerate().filter(|(at, _)| is_chosen(*at)).map(|(at, path)| {
        let method = if is_chosen(at + 10) { "get" } else { "post" };
        let answer = "{ responses: { '204': { description: x } } }";
        format!("  '{path}': {{ {method}: {answer} }}\n")
    });
    let text = format!("openapi: 3.1.0\npaths:\n  /own: {{}}\n{}", paths.collect::<String>());
    let api = Api::read(name, name, &text, &|_: &str| Err("alone".to_owned())).expect("sound");
    let base_path = is_chosen(20).then(|| "/base".to_owned());
    let hosts = if is_chosen(21) { vec!["a.example".to_owned()] } else { Vec::new() };
    let mount = Mount { base_path, hosts, ..Mount::from(Arc::new(api)) };
    Arc::new(Mounted::new(mount, &options()).expect("sound"))
}

/// The answer to each request.
fn answers(mocks: &Mocks) -> Vec<String> {
    let served = Served(mocks.clone());
    let mut told = Vec::new();
    for target in ASKED {
        for base in ["", "/base"] {
            for method in ["GET", "POST", "HEAD"] {
                for head in ["Host: a.example", "Host: b.example", "X-Api: d3", "X-Api: none"] {
                    let asked = served.ask(&format!("{method} {base}{target}"), &[head], "");
                    let who = asked.field("Weir-Mock").unwrap_or_default();
                    told.push(format!("{method} {base}{target} {head}: {} {who}", asked.status));
                }
            }
        }
    }
    told
}

#[test]
fn changes_come_to_the_same_as_a_fresh_start() {
    let (mut mocks, mut present) = (Mocks::named(options()), std::collections::BTreeMap::new());
    let mut dice = 1_u64;
    for n in 0..120 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let name = format!("d{}", (dice >> 40) % 9);
        let before = mocks.clone();
        let answered = (n % 20 == 0).then(|| answers(&before));
        if n > 20 && dice >> 62 == 0 {
            assert_eq!(mocks.remove(&name).is_some(), present.remove(&name).is_some());
        } else {
            let one = mounted(&name, dice >> 8);
            mocks.put(Arc::clone(&one)).expect("few shapes");
            present.insert(name, one);
        }
        if n % 5 == 0 {
            let fresh = Mocks::of_mounted(present.values().cloned().collect(), options(), true);
            assert_eq!(answers(&mocks), answers(&fresh.expect("few shapes")), "change {n}");
        }
        if let Some(answered) = answered {
            assert_eq!(answers(&before), answered, "a change shows in what served before");
        }
    }
    assert!(answers(&mocks).iter().any(|told| told.contains(" 204 ")), "some are served");
}
