//! The binary: hands its arguments to the library and ends with the exit code it gets back.

fn main() -> std::process::ExitCode {
    verilane::app::run(std::env::args_os())
}
