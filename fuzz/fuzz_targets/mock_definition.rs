//! See `weir_properties::mock_definition`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::mock_definition(input));
