//! See `weir_properties::path_filters`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::path_filters(input));
