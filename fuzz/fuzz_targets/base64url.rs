#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verilane_fuzz::targets::base64url(data));
