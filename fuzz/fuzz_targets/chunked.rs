//! See `weir_properties::chunked`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::chunked(input));
