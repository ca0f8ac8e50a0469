//! See `weir_properties::store_record`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::store_record(input));
