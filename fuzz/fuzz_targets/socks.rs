//! See `weir_properties::socks`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::socks(input));
