//! The admin listener of the real server.

use serde_json::{Value, json};

use super::support::server::{ISSUER_NAME, Server, break_signature, http_client};

async fn get(url: String) -> (u16, String) {
    let client = http_client().build().unwrap();
    let response = client.get(url).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn verify(server: &Server, token: &str) {
    let client = http_client().build().unwrap();
    let post = client.post(server.url("/v1/verify")).header("content-type", "application/json");
    post.body(json!({ "token": token }).to_string()).send().await.unwrap();
}

#[tokio::test]
async fn liveness_and_readiness_tell_issuers_apart_and_follow_the_drain() {
    let server = Server::start();
    assert_eq!(get(server.admin_url("/livez")).await.0, 200);
    for path in ["/readyz", "/healthz"] {
        let (status, text) = get(server.admin_url(path)).await;
        assert_eq!(status, 200);
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["ready"], true);
        assert_eq!(report["issuers"][0]["name"], ISSUER_NAME);
        assert_eq!(report["issuers"][0]["keys"], 1);
        assert_eq!(report["issuers"][0]["usable"], true);
    }
    server.readiness.drain();
    let (status, text) = get(server.admin_url("/readyz")).await;
    assert_eq!(status, 503);
    assert!(text.contains("draining"), "{text}");
    assert_eq!(get(server.admin_url("/livez")).await.0, 200, "a draining process is alive");
    assert_eq!(get(server.admin_url("/nothing")).await.0, 404);
}

/// The value of the line that starts with `name` and holds every one of `labels`.
fn value(page: &str, name: &str, labels: &[&str]) -> Option<f64> {
    page.lines()
        .find(|line| {
            let (series, _) = line.rsplit_once(' ').unwrap_or_default();
            series.split('{').next() == Some(name) && labels.iter().all(|label| series.contains(label))
        })
        .and_then(|line| line.rsplit_once(' ')?.1.parse().ok())
}

#[tokio::test]
async fn metrics_count_checks_by_verdict_reason_algorithm_and_issuer() {
    let server = Server::start();
    let good = server.token("alice");
    for _ in 0..3 {
        verify(&server, &good).await;
    }
    verify(&server, &break_signature(&good)).await;
    let (status, page) = get(server.admin_url("/metrics")).await;
    assert_eq!(status, 200);
    let main = r#"issuer="main""#;
    let accepted = [r#"verdict="accepted""#, r#"reason="""#, r#"algorithm="EdDSA""#, main];
    assert_eq!(value(&page, "verilane_checks_total", &accepted), Some(3.0), "{page}");
    let rejected = [r#"verdict="rejected""#, r#"reason="signature_invalid""#, r#"algorithm="EdDSA""#, main];
    assert_eq!(value(&page, "verilane_checks_total", &rejected), Some(1.0), "{page}");
    for (name, labels, want) in [
        ("verilane_check_duration_seconds_count", &[r#"kind="token""#][..], 4.0),
        ("verilane_check_duration_seconds_bucket", &[r#"kind="token""#, r#"le="+Inf""#], 4.0),
        ("verilane_engine_jobs_submitted_total", &[], 4.0),
        ("verilane_engine_jobs_good_total", &[], 3.0),
        ("verilane_engine_jobs_bad_total", &[], 1.0),
        ("verilane_engine_slots_in_use", &[], 0.0),
        ("verilane_engine_group_jobs_sum", &[], 4.0),
        ("verilane_kernel_jobs_total", &[r#"scheme="ed25519""#], 4.0),
        ("verilane_keys", &[main], 1.0),
        ("verilane_kernel_info", &[r#"scheme="ed25519""#], 1.0),
        ("verilane_build_info", &["version="], 1.0),
    ] {
        assert_eq!(value(&page, name, labels), Some(want), "{name}\n{page}");
    }
    assert!(value(&page, "verilane_keys_age_seconds", &[main]).is_some());
    #[cfg(target_os = "linux")]
    assert!(value(&page, "process_resident_memory_bytes", &[]).is_some_and(|bytes| bytes > 0.0));
}

#[tokio::test]
async fn every_line_of_the_metrics_page_is_a_comment_or_a_sample_and_none_is_twice() {
    let server = Server::start();
    verify(&server, &server.token("alice")).await;
    let (_, page) = get(server.admin_url("/metrics")).await;
    let mut seen = std::collections::BTreeSet::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(series), "twice: {series}");
    }
    assert!(!page.contains("alice"), "no claim is in the metrics");
}

#[tokio::test]
async fn the_kernel_page_names_the_kernel_of_every_scheme() {
    let server = Server::start();
    let (status, text) = get(server.admin_url("/kernels")).await;
    assert_eq!(status, 200);
    let report: Value = serde_json::from_str(&text).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), verilane::kernel::Scheme::COUNT);
    for kernel in kernels {
        let candidates = kernel["candidates"].as_array().unwrap();
        assert!(candidates.iter().any(|each| each["backend"] == kernel["backend"] && each["available"] == true));
        assert_eq!(candidates.last().unwrap()["backend"], "portable");
    }
}
