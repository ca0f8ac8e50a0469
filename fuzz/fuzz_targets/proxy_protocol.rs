//! See `weir_properties::proxy_protocol`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::proxy_protocol(input));
