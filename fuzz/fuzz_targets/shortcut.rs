//! A shortcut such as `Path=/a,/b`: parsing it, and building the predicate it names, gives a value
//! or an error, whatever the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_route::parse_shortcut;
use weir_route::predicate::{BuildContext, PredicateOptions, find};

fuzz_target!(|text: &str| {
    let Ok(named) = parse_shortcut(text, true) else { return };
    assert!(text.starts_with(&named.name));
    let written: Vec<_> = named.args.values().filter_map(|value| value.as_str()).collect();
    assert!(written.iter().all(|value| !value.is_empty() && !value.contains(',')));
    let Some(spec) = find(&named.name) else { return };
    let options = PredicateOptions::default();
    let context = BuildContext { options: &options, route_id: "fuzz" };
    if let Ok(predicate) = spec.bind(&named.args).and_then(|args| (spec.build)(&args, &context)) {
        assert!(!predicate.to_string().is_empty());
    }
});
