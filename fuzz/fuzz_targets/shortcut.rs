//! See `weir_properties::shortcut`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_properties::shortcut(input));
