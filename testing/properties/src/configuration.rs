//! Configurations.

use weir_config::{Format, Loader, Source, Style, render};

/// A configuration in each format: no text makes the loader panic or run without bound, every
/// finding has a place and a remedy and can be rendered, and the compiled routes are the written
/// ones.
///
/// # Panics
/// If it does not hold.
pub fn configuration(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let format = match first % 4 {
        0 => Format::Yaml,
        1 => Format::Properties,
        2 => Format::Json,
        _ => Format::Ini,
    };
    let text = String::from_utf8_lossy(rest).into_owned();
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("input", text, format));
    let mut loaded = loader.load();
    let compiled = loaded.compile();
    assert!(compiled.routes.len() <= compiled.definitions.len());
    for route in &compiled.routes {
        let position = usize::try_from(route.position).expect("a position");
        let definition = compiled.definitions.get(position).expect("its definition");
        assert_eq!(*definition.id, *route.id);
    }
    for finding in &loaded.diagnostics {
        assert!(finding.at.is_some() && !finding.help.is_empty(), "{finding:?}");
        assert!(!render(finding, loaded.sources(), Style::Plain).is_empty());
    }
}
