//! See `weir_properties::route_json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::route_json(input));
