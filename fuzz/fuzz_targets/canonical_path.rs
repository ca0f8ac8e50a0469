//! See `weir_properties::canonical_path`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::canonical_path(input));
