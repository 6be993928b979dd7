//! The structure holds: arrows between modules, `unsafe` only where listed, docs that name what exists.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Code without line comments, so that docs may mention what code may not use.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Module, and what it may import from the crate. Everything else in the table of `docs/ARCHITECTURE.md` follows.
const ARROWS: &[(&str, &[&str])] = &[
    ("kernel", &["kernel"]),
    ("jose", &["jose", "kernel"]),
    ("policy", &["policy", "jose"]),
    ("keys", &["keys", "jose", "kernel"]),
    ("engine", &["engine", "kernel"]),
    ("verify", &["verify", "engine", "keys", "policy", "jose", "kernel"]),
    ("api", &["api", "verify", "jose"]),
    ("faces", &["faces", "api", "verify", "keys", "jose", "kernel"]),
    ("http", &["http", "faces", "api", "verify", "engine", "keys", "policy", "jose", "kernel"]),
    ("grpc", &["grpc", "faces", "api", "verify", "engine", "keys", "policy", "jose", "kernel"]),
    ("admin", &["admin", "faces", "api", "verify", "engine", "keys", "policy", "jose", "kernel", "telemetry"]),
    ("telemetry", &["telemetry", "runtime", "api", "verify", "engine", "keys", "policy", "jose", "kernel"]),
    ("runtime", &["runtime", "engine", "kernel"]),
    ("config", &["config", "runtime", "verify", "engine", "keys", "policy", "jose", "kernel"]),
];

#[test]
fn modules_import_lower_layers_only() {
    let mut faults = Vec::new();
    for (module, allowed) in ARROWS {
        for file in rust_files(&root().join("src").join(module)) {
            let text = code(&file);
            for (at, _) in text.match_indices("crate::") {
                let name: String =
                    text[at + "crate::".len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !name.is_empty() && !allowed.contains(&name.as_str()) {
                    faults.push(format!("{} uses crate::{name}", file.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "arrows that point up:\n{}", faults.join("\n"));
}

#[test]
fn every_module_is_in_the_table_and_says_what_it_owns() {
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name == "app" || ARROWS.iter().any(|(module, _)| *module == name), "{name} has no arrows listed");
        }
    }
    for file in rust_files(&root().join("src")) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//!"), "{} has no module header", file.display());
    }
}

#[test]
fn unsafe_lives_only_where_the_architecture_allows_it() {
    for file in rust_files(&root().join("src")) {
        let text = code(&file);
        let shown = file.strip_prefix(root()).unwrap().display().to_string();
        let listed = shown.starts_with("src/kernel/") && (shown.contains("avx") || shown.contains("x86_"))
            || shown.starts_with("src/kernel/vector/");
        assert!(
            listed || !(text.contains("unsafe {") || text.contains("unsafe fn") || text.contains("allow(unsafe_code")),
            "{shown} holds unsafe code"
        );
    }
}

#[test]
fn jose_policy_and_kernel_do_no_io_and_read_no_clock() {
    for module in ["kernel", "jose", "policy"] {
        for file in rust_files(&root().join("src").join(module)) {
            let text = code(&file);
            for banned in ["std::fs", "std::net", "SystemTime", "Instant::now", "tokio::", "std::thread"] {
                let tests_only = text.find("#[cfg(test)]").unwrap_or(text.len());
                assert!(!text[..tests_only].contains(banned), "{} uses {banned}", file.display());
            }
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    for dir in ["docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(dir)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "md") {
                documents.push(path);
            }
        }
    }
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap_or_else(|e| panic!("{}: {e}", document.display()));
        for (at, _) in text.match_indices("](") {
            let target: String = text[at + 2..].chars().take_while(|c| *c != ')' && *c != '#').collect();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = document.parent().unwrap().join(&target);
            assert!(path.exists(), "{} links to {target}, which does not exist", document.display());
        }
    }
}
