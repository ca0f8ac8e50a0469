//! See `weir_properties::client_hello`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::client_hello(input));
