//! See `weir_properties::dns_answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::dns_answer(input));
