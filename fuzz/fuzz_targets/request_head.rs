//! See `weir_properties::request_head`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::request_head(input));
