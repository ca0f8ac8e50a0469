//! See `weir_properties::zookeeper`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::zookeeper(input));
