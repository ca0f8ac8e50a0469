//! See `weir_properties::configuration`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::configuration(input));
