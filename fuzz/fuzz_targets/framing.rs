//! See `weir_properties::framing`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::framing(input));
