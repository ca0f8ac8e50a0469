//! See `weir_properties::dubbo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::dubbo(input));
