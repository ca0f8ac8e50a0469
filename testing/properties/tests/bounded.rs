//! Every property on a stable compiler, for a while: the seeds, and changes of them.

use std::path::PathBuf;

use weir_properties::PROPERTIES;
use weir_testkit::{Dice, mutate};

/// Changed inputs for each property.
const COUNT: usize = 4000;
/// Longest input.
const BYTES_MAX: usize = 2048;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus-seeds");
    let entries = std::fs::read_dir(place.join(name));
    let entries = entries.unwrap_or_else(|error| panic!("seeds of {name}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

#[test]
fn every_property_holds_of_its_seeds_and_of_changes_of_them() {
    for (name, property) in PROPERTIES {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in &seeds {
            property(seed);
        }
        let mut dice = Dice::new(name.len() as u64);
        for _ in 0..COUNT {
            let mut input = dice.pick(&seeds).clone();
            mutate(&mut dice, &mut input);
            input.truncate(BYTES_MAX);
            // The test's output, shown if it fails, ends with what was tried.
            let tried = input.escape_ascii().to_string();
            let held = std::panic::catch_unwind(|| property(&input));
            assert!(held.is_ok(), "{name}: \"{tried}\"");
        }
    }
}

#[test]
fn every_property_has_a_fuzz_target() {
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(place).expect("fuzz/Cargo.toml");
    for (name, _) in PROPERTIES {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
}
