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

/// Identifiers and keywords of Rust source: no comments, no text, no characters.
fn words(source: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            quoted(rest)
        } else if first == '\'' {
            character(rest)
        } else if first == '_' || first.is_alphanumeric() {
            let length = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            let hashes = after.len() - after.trim_start_matches('#').len();
            if matches!(word, "r" | "br" | "cr") && after[hashes..].starts_with('"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let text = hashes + 1;
                length + text + after[text..].find(&close).map_or(after.len() - text, |at| at + close.len())
            } else {
                words.push(word);
                length
            }
        } else {
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

/// Length of the block comment that `text` begins with; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Length of the string that `text` begins with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Length of the character that `text` begins with, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    match inside.next() {
        Some((_, '\\')) => {
            let _escaped = inside.next();
            inside.find(|(_, c)| *c == '\'').map_or(text.len(), |(at, _)| at + 1)
        }
        Some(_) => inside.next().filter(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1),
        None => 1,
    }
}

#[test]
fn words_of_source_are_told_from_comments_and_text() {
    let cases: &[(&str, &[&str])] = &[
        ("unsafe{f()}", &["unsafe", "f"]),
        ("unsafe\nimpl Send for X {}", &["unsafe", "impl", "Send", "for", "X"]),
        ("#![allow(unsafe_code)]", &["allow", "unsafe_code"]),
        ("// unsafe\nx /* unsafe /* unsafe */ unsafe */ y", &["x", "y"]),
        ("\"unsafe \\\" unsafe\" a", &["a"]),
        ("r#\"unsafe \" unsafe\"# a br\"unsafe\" b", &["a", "b"]),
        ("'\"' unsafe '\\'' a: &'static b", &["unsafe", "a", "static", "b"]),
        ("'\\u{22}' unsafe", &["unsafe"]),
        ("\"http://x\" unsafe", &["unsafe"]),
    ];
    for (source, expected) in cases {
        assert_eq!(words(source), *expected, "{source}");
    }
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
    ("config", &["config", "faces", "runtime", "verify", "engine", "keys", "policy", "jose", "kernel"]),
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

/// Besides the kernels: the counting allocator of a test.
const UNSAFE_ALLOWED: [&str; 1] = ["tests/allocation.rs"];

#[test]
fn unsafe_lives_only_where_the_architecture_allows_it() {
    let mut faults = Vec::new();
    for folder in ["src", "tests", "benches", "examples", "fuzz/src"] {
        for file in rust_files(&root().join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let shown = file.strip_prefix(root()).unwrap().display().to_string();
            if UNSAFE_ALLOWED.contains(&shown.as_str())
                || shown.starts_with("src/kernel/") && (shown.contains("avx") || shown.contains("x86_"))
                || shown.starts_with("src/kernel/vector/")
            {
                continue;
            }
            let found = words(&text).into_iter().filter(|word| ["unsafe", "unsafe_code"].contains(word)).count();
            // The crate root names the lint once, to deny it.
            let expected = usize::from(shown == "src/lib.rs");
            if found != expected {
                faults.push(shown);
            }
        }
    }
    assert!(faults.is_empty(), "unsafe outside the listed places: {faults:?}");
    let root = code(&root().join("src/lib.rs"));
    assert!(root.contains("#![deny(unsafe_code") || root.contains("#![forbid(unsafe_code"));
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
