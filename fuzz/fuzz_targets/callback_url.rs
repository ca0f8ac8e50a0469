//! See `weir_properties::callback_url`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::callback_url(input));
