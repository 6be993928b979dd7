//! Local sources and their reload.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use verilane::jose::Algorithm;
use verilane::keys::prepare::DocumentLimits;
use verilane::keys::source::{Binding, SecretEncoding, Source, SourceError};
use verilane::keys::watch::{self, WatchOptions, Watched};
use verilane::keys::{IssuerKeys, KeySet};

use super::{named_set, oct_jwk, set_of};

/// Waits until `condition` holds. The bound only ends a test that has failed.
pub(super) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never happened: {what}");
}

pub(super) fn names(keys: &IssuerKeys) -> Vec<String> {
    let set = keys.load(Instant::now());
    let set: &[_] = set.as_deref().map_or(&[], KeySet::keys);
    set.iter().map(|key| key.key_id.as_deref().unwrap_or_default().to_owned()).collect()
}

/// Notices only: a poll would hide that they do not come.
fn by_notice() -> WatchOptions {
    WatchOptions { poll: Duration::from_secs(3600), settle: Duration::from_millis(5), ..WatchOptions::default() }
}

fn by_poll() -> WatchOptions {
    WatchOptions { poll: Duration::from_millis(10), ..by_notice() }
}

async fn watch_file(path: &Path, options: WatchOptions) -> (Arc<IssuerKeys>, watch::WatchHandle) {
    let keys = IssuerKeys::waiting("test");
    let watched = Watched { source: Source::JwksFile(path.to_path_buf()), keys: Arc::clone(&keys) };
    let handle = watch::spawn(vec![watched], options).await;
    (keys, handle)
}

/// Replaces a file as careful programs do.
fn replace(path: &Path, content: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, content).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

#[tokio::test]
async fn a_changed_file_is_loaded_whether_written_or_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    std::fs::write(&path, named_set(&["a"])).unwrap();
    let (keys, _handle) = watch_file(&path, by_notice()).await;
    assert_eq!(names(&keys), ["a"], "loaded before the start is over");
    std::fs::write(&path, named_set(&["b"])).unwrap();
    eventually("the written file is loaded", || names(&keys) == ["b"]).await;
    replace(&path, &named_set(&["c"]));
    eventually("the replaced file is loaded", || names(&keys) == ["c"]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_kubernetes_symlink_swap_is_noticed() {
    use std::os::unix::fs::symlink;
    let volume = tempfile::tempdir().unwrap();
    let at = |name: &str| volume.path().join(name);
    for (version, key) in [("..1", "old"), ("..2", "new")] {
        std::fs::create_dir(at(version)).unwrap();
        std::fs::write(at(version).join("jwks.json"), named_set(&[key])).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/jwks.json", at("jwks.json")).unwrap();
    let (keys, _handle) = watch_file(&at("jwks.json"), by_notice()).await;
    assert_eq!(names(&keys), ["old"]);
    symlink("..2", at("..data_tmp")).unwrap();
    std::fs::rename(at("..data_tmp"), at("..data")).unwrap();
    std::fs::remove_dir_all(at("..1")).unwrap();
    eventually("the swapped file is loaded", || names(&keys) == ["new"]).await;
}

#[tokio::test]
async fn a_broken_file_never_replaces_a_good_set() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    std::fs::write(&path, named_set(&["good"])).unwrap();
    let (keys, _handle) = watch_file(&path, by_notice()).await;
    let generation = keys.status().generation;
    let broken = [
        ("empty", String::new()),
        ("half a file", named_set(&["x"])[..40].to_owned()),
        ("no keys", r#"{"keys":[]}"#.to_owned()),
        ("no usable key", set_of(&[oct_jwk("short", 8, "")])),
        ("not JSON", "<html>".to_owned()),
    ];
    for (case, content) in broken {
        let failures = keys.status().failures;
        replace(&path, &content);
        eventually(case, || keys.status().failures > failures).await;
        assert_eq!(names(&keys), ["good"], "{case}");
        assert_eq!(keys.status().generation, generation, "{case}");
        let error = keys.status().last_error.unwrap();
        assert!(error.contains("jwks.json"), "{case}: {error}");
    }
    let failures = keys.status().failures;
    std::fs::remove_file(&path).unwrap();
    eventually("the removal is seen", || keys.status().failures > failures).await;
    assert_eq!(names(&keys), ["good"]);
    replace(&path, &named_set(&["repaired"]));
    eventually("the repaired file is loaded", || names(&keys) == ["repaired"]).await;
    assert_eq!(keys.status().last_error, None);
}

#[tokio::test]
async fn a_file_that_appears_later_is_found_even_without_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("later").join("jwks.json");
    let (keys, _handle) = watch_file(&path, by_poll()).await;
    assert!(keys.load(Instant::now()).is_none());
    assert!(keys.status().last_error.unwrap().contains("later"));
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, named_set(&["a"])).unwrap();
    eventually("the file is found", || names(&keys) == ["a"]).await;
}

#[tokio::test]
async fn one_bad_file_does_nothing_to_another_issuer() {
    let directory = tempfile::tempdir().unwrap();
    let (bad, good) = (directory.path().join("bad.json"), directory.path().join("good.json"));
    std::fs::write(&bad, "?").unwrap();
    std::fs::write(&good, named_set(&["a"])).unwrap();
    let watched =
        [bad, good.clone()].map(|path| Watched { source: Source::JwksFile(path), keys: IssuerKeys::waiting("test") });
    let [one, two] = watched.clone().map(|watched| watched.keys);
    let _handle = watch::spawn(watched.to_vec(), by_notice()).await;
    assert!(one.load(Instant::now()).is_none());
    replace(&good, &named_set(&["b"]));
    eventually("the good one is reloaded", || names(&two) == ["b"]).await;
    assert!(one.status().last_error.is_some() && two.status().last_error.is_none());
}

#[tokio::test]
async fn an_unchanged_file_keeps_its_set_and_generation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    std::fs::write(&path, named_set(&["a"])).unwrap();
    let (keys, handle) = watch_file(&path, by_poll()).await;
    let generation = keys.status().generation;
    eventually("it is polled", || keys.status().successes > 3).await;
    assert_eq!(keys.status().generation, generation);
    drop(handle);
    assert_eq!(names(&keys), ["a"], "keys outlive their watch");
}

#[test]
fn a_secret_file_is_read_in_its_encoding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    let load = |content: &[u8], encoding, algorithms: Vec<Algorithm>| {
        std::fs::write(&path, content).unwrap();
        let binding = Binding { key_id: None, algorithms };
        Source::SecretFile { path: path.clone(), encoding, binding }.load(&DocumentLimits::default())
    };
    let text = [b'x'; 32];
    let line = |end: &str| [&text[..], end.as_bytes()].concat();
    // 33 bytes of text serve HS256 as well, so the exact length is found with one byte too few.
    let short = [&text[..31], b"\n"].concat();
    assert!(load(&short, SecretEncoding::Raw, vec![]).is_ok(), "raw: the line end counts");
    assert!(load(&short, SecretEncoding::Text, vec![]).is_err(), "text: it does not");
    assert!(load(&[&text[..31], b"\r\n"].concat(), SecretEncoding::Text, vec![]).is_err());
    assert!(load(&[&text[..31], b"\n\n"].concat(), SecretEncoding::Text, vec![]).is_ok(), "only one line end is cut");
    assert!(load(&line("\n"), SecretEncoding::Text, vec![]).is_ok());
    let encoded = verilane::jose::base64url::encode(&[0xfb; 64]);
    assert!(load(format!("{encoded}\n").as_bytes(), SecretEncoding::Base64Url, vec![Algorithm::Hs512]).is_ok());
    assert!(load(b"not base64url!", SecretEncoding::Base64Url, vec![]).is_err());
    let padded = format!("{}==\n", encoded.replace('-', "+").replace('_', "/"));
    assert!(load(padded.as_bytes(), SecretEncoding::Base64, vec![Algorithm::Hs512]).is_ok());
    let error = load(padded.as_bytes(), SecretEncoding::Base64Url, vec![]).unwrap_err();
    assert!(error.to_string().contains("base64url") && !error.to_string().contains(&padded[..8]), "{error}");
}

#[test]
fn files_that_are_too_large_or_missing_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    let limits = DocumentLimits { bytes: 100, ..DocumentLimits::default() };
    std::fs::write(&path, vec![b' '; 101]).unwrap();
    let error = Source::JwksFile(path.clone()).load(&limits).unwrap_err();
    assert!(error.to_string().contains("at most 100"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Source::JwksFile(path).load(&limits), Err(SourceError::Read { .. })));
    let binding = Binding::default();
    let variable = "VERILANE_TEST_VARIABLE_THAT_IS_NOT_SET".to_owned();
    let source = Source::SecretEnv { variable, encoding: SecretEncoding::Raw, binding };
    assert!(matches!(source.load(&limits), Err(SourceError::NoVariable(_))));
}

#[test]
fn a_secret_from_the_environment_loads_under_its_configured_name() {
    let (variable, value) = std::env::vars().find(|(_, value)| value.len() >= 32 && value.is_ascii()).unwrap();
    let binding = Binding { key_id: Some("env".to_owned()), algorithms: vec![Algorithm::Hs256] };
    let source = Source::SecretEnv { variable: variable.clone(), encoding: SecretEncoding::Text, binding };
    let keys = source.fixed(&DocumentLimits::default()).unwrap();
    assert_eq!(names(&keys), ["env"]);
    assert_eq!(keys.status().source, format!("environment variable {variable}"));
    assert!(!format!("{source:?} {keys:?}").contains(&value));
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    for path in [path, directory.path().to_owned()] {
        let error = Source::JwksFile(path).load(&DocumentLimits::default()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
