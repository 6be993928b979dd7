//! `verilane keygen`: a private JWK and the public JWK Set that goes with it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use super::EXIT_ACCEPTED;
use super::cli::KeygenArguments;
use super::failure::{Failure, Outcome};
use super::minting::SigningKey;

/// Who may read a file that is written.
enum Access {
    /// Its owner alone.
    Owner,
    /// Whoever the directory lets.
    Everyone,
}

pub(super) fn run(arguments: &KeygenArguments) -> Outcome {
    let mut key = SigningKey::generate(arguments.alg.0, arguments.bits)?;
    if let Some(key_id) = &arguments.kid {
        key = key.named(key_id);
    }
    let private = key.private_jwk()?;
    // A secret has no public half: whoever verifies needs the secret itself.
    let public = key.public_jwk().map(|jwk| json!({ "keys": [jwk] }));

    if arguments.out == Path::new("-") {
        let mut out = std::io::stdout().lock();
        let lines = std::iter::once(private).chain(public);
        for line in lines {
            writeln!(out, "{line}").map_err(|error| Failure::output(&error))?;
        }
        return Ok(EXIT_ACCEPTED);
    }

    let directory = &arguments.out;
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::new(format!("cannot make directory {}: {error}", directory.display())))?;
    let private_file = directory.join("private.jwk.json");
    write_file(&private_file, &format!("{private:#}\n"), Access::Owner, arguments.force)?;
    let mut lines = format!("{}  private key, readable by its owner only\n", private_file.display());
    match public {
        Some(public) => {
            let public_file = directory.join("jwks.json");
            write_file(&public_file, &format!("{public:#}\n"), Access::Everyone, arguments.force)?;
            lines += &format!("{}  public JWK Set, for whoever verifies\n", public_file.display());
        }
        None => lines += &format!("{} is a shared secret: whoever verifies needs the same file\n", key.algorithm()),
    }
    std::io::stdout().lock().write_all(lines.as_bytes()).map_err(|error| Failure::output(&error))?;
    Ok(EXIT_ACCEPTED)
}

fn write_file(path: &Path, text: &str, access: Access, replace: bool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let failure = Failure::new(format!("cannot write {}: {error}", path.display()));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => failure.hint("give --force to replace it, or another --out"),
            _ => failure,
        }
    };
    if replace && let Err(error) = std::fs::remove_file(path) {
        // Replaced as a new file, so that its permissions are those asked for here.
        if error.kind() != std::io::ErrorKind::NotFound {
            return Err(failed(error));
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(match access {
            Access::Owner => 0o600,
            Access::Everyone => 0o644,
        });
    }
    #[cfg(not(unix))]
    let _ = access;
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
