//! See `weir_properties::frame`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::frame(input));
