//! See `weir_properties::response_head`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::response_head(input));
