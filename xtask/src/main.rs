//! Tasks of the workspace that are programs: `cargo run -p xtask -- deps`.

mod deps;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    match task.as_deref() {
        Some("deps") => deps::check(),
        _ => {
            eprintln!("usage: xtask deps");
            ExitCode::from(2)
        }
    }
}
