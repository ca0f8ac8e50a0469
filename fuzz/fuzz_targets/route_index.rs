//! See `weir_properties::route_index`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::route_index(input));
