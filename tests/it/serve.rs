//! `verilane serve`, the whole process: development mode, start, reload of keys, stop.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use verilane::jose::Algorithm;

use crate::support::binary::{
    ANY_PORTS, ISSUER, Keys, Server, eventually, exchange, fails, forged, get, lines_of_json, post, run, verilane,
};

#[test]
fn development_mode_prints_commands_that_work_and_stops_cleanly() {
    let free = "127.0.0.1:0";
    let mut server =
        Server::spawn(verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]));
    server.wait_for_line("Ctrl-C");
    let (data, admin, issuer) = (server.address("data    "), server.address("admin   "), server.address("issuer  "));

    // The bodies of the two printed verify commands, as the shell would hand them over.
    let bodies: Vec<&str> = server
        .printed
        .lines()
        .filter(|line| line.starts_with(&format!("curl -s http://{data}/v1/verify ")))
        .map(|line| line.split('\'').nth(3).expect("a quoted body"))
        .collect();
    assert_eq!(bodies.len(), 2, "{}", server.printed);
    let accepted = post(&data, "/v1/verify", bodies[0]);
    assert_eq!((&accepted["verdict"], &accepted["algorithm"]), (&"accepted".into(), &"EdDSA".into()), "{accepted}");
    let rejected = post(&data, "/v1/verify", bodies[1]);
    assert_eq!(rejected["reason"], "signature_invalid", "{rejected}");

    for algorithm in Algorithm::ALL {
        let body = format!("{{\"alg\":\"{algorithm}\",\"claims\":{{\"sub\":\"s\"}},\"ttl\":\"5m\"}}");
        let minted = post(&issuer, "/dev/mint", &body);
        let token = minted["token"].as_str().expect("a token");
        let verdict = post(&data, "/v1/verify", &serde_json::json!({ "token": token }).to_string());
        assert_eq!(verdict["verdict"], "accepted", "{algorithm}: {verdict}");
        assert_eq!(verdict["algorithm"], algorithm.name());
        let verdict = post(&data, "/v1/verify", &serde_json::json!({ "token": forged(token) }).to_string());
        assert_eq!(verdict["reason"], "signature_invalid", "{algorithm}: {verdict}");
    }
    let refused = [
        ("content-type: text/plain", "{}", 415),
        ("content-type: application/json\r\norigin: https://evil.example", "{}", 403),
        ("content-type: application/json", "{\"ttl\":\"4000d\"}", 400),
    ];
    for (fields, body, want) in refused {
        let head = format!("POST /dev/mint HTTP/1.1\r\nhost: {issuer}\r\nconnection: close\r\n{fields}\r\n");
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let (status, answer) = exchange(&issuer, &request).unwrap();
        assert_eq!(status, want, "{fields}: {answer}");
        assert!(!answer.contains("token\":"), "{answer}");
    }

    let without_expiry = post(&issuer, "/dev/mint", "{\"claims\":{\"exp\":null}}");
    let verdict = post(&data, "/v1/verify", &serde_json::json!({ "token": without_expiry["token"] }).to_string());
    assert_eq!(verdict["reason"], "expiry_missing");

    let (_, discovery) = get(&issuer, "/.well-known/openid-configuration").unwrap();
    let discovery: Value = serde_json::from_str(&discovery).unwrap();
    assert_eq!(discovery["issuer"], format!("http://{issuer}"));
    assert_eq!(discovery["jwks_uri"], format!("http://{issuer}/jwks.json"));
    let (_, jwks) = get(&issuer, "/jwks.json").unwrap();
    let private = ["\"d\"", "\"k\"", "\"p\"", "oct"].into_iter().find(|name| jwks.contains(name));
    assert_eq!(private, None, "{jwks}");

    // The command line fetches the same document.
    let minted = post(&issuer, "/dev/mint", "{\"alg\":\"ES384\"}");
    let (url, token) = (format!("http://{issuer}/jwks.json"), minted["token"].as_str().unwrap());
    let name = format!("http://{issuer}");
    let fetched = run(&["verify", "--jwks", &url, "--issuer", &name, "--audience", "verilane-dev", token]);
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    let absent = format!("http://{issuer}/absent.json");
    fails(&["verify", "--jwks", &absent, token], &["no keys from http://", "404"]);
    fails(&["verify", "--jwks", "http://keys.example/jwks.json", token], &["error: "]);

    assert_eq!(get(&admin, "/readyz").unwrap().0, 200);
    let (_, metrics) = get(&admin, "/metrics").unwrap();
    assert!(metrics.contains("verilane_checks_total{"), "{metrics}");
    assert!(get(&data, "/metrics").is_some_and(|(status, _)| status == 404), "the data listener has no admin pages");

    // A second server sees that the ports are taken, and says what to do.
    let taken = run(&["serve", "--dev", "--listen", &data, "--admin", free, "--dev-issuer", free]);
    assert_eq!(taken.code, Some(2), "{taken:?}");
    assert!(taken.err.contains("--listen 127.0.0.1:0"), "{}", taken.err);

    assert_eq!(server.terminate(), Some(0), "{}", server.log());
    assert!(get(&data, "/openapi.json").is_none(), "the listener is closed");
}

#[test]
fn development_mode_stays_on_loopback() {
    for flag in ["--listen", "--admin", "--dev-issuer"] {
        fails(&["serve", "--dev", flag, "0.0.0.0:0"], &["0.0.0.0:0 is refused", flag]);
    }
    fails(&["serve", "--dev", "--config", "x.yaml"], &["cannot be used with"]);
}

#[test]
fn serving_without_a_configuration_is_refused_with_a_way_out() {
    fails(&["serve"], &["no configuration", "serve --dev"]);
    fails(&["serve", "--config", "/nonexistent/verilane.yaml"], &["cannot read /nonexistent/verilane.yaml"]);
}

#[test]
fn a_removed_key_stops_when_its_file_changes() {
    let keys = Keys::new("ES256");
    let config = keys.path("verilane.yaml");
    let text = format!(
        "{ANY_PORTS}shutdown: {{announce: 0}}\nengine: {{shards: 2}}\nissuers:\n  - {{name: a, issuer: '{ISSUER}', audiences: [api], keys: {{jwks_file: jwks.json}}}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut server = Server::spawn(verilane(&["serve", "--config", &config]));
    let (data, admin) = server.serving();
    eventually("ready", || get(&admin, "/readyz"), |answer| answer.as_ref().is_some_and(|(status, _)| *status == 200));

    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().to_string();
    let token = keys.mint(&["--now", &now]);
    let body = serde_json::json!({ "token": token }).to_string();
    assert_eq!(post(&data, "/v1/verify", &body)["verdict"], "accepted");

    // A broken file changes nothing; a good one without the key does.
    std::fs::write(keys.path("next"), "{").unwrap();
    std::fs::rename(keys.path("next"), keys.public()).unwrap();
    let report = eventually(
        "the fault is seen",
        || get(&admin, "/readyz").map(|(_, body)| body).unwrap_or_default(),
        |body| serde_json::from_str::<Value>(body).is_ok_and(|report| report["issuers"][0]["last_error"].is_string()),
    );
    assert!(report.contains("\"ready\": true"), "{report}");
    assert_eq!(post(&data, "/v1/verify", &body)["verdict"], "accepted");
    let other = Keys::new("ES256");
    std::fs::copy(other.public(), keys.path("next")).unwrap();
    std::fs::rename(keys.path("next"), keys.public()).unwrap();
    eventually("the key is gone", || post(&data, "/v1/verify", &body), |answer| answer["reason"] == "unknown_kid");
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
}

#[test]
fn nothing_of_a_token_is_logged_at_any_level() {
    let free = "127.0.0.1:0";
    let mut command = verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]);
    command.env("VERILANE__TELEMETRY__LOG_LEVEL", "trace").env("VERILANE__TELEMETRY__LOG_FORMAT", "json");
    let mut server = Server::spawn(command);
    server.wait_for_line("Ctrl-C");
    let (data, issuer) = (server.address("data    "), server.address("issuer  "));
    let minted = post(&issuer, "/dev/mint", "{\"claims\":{\"sub\":\"a-subject-to-look-for\"}}");
    let token = minted["token"].as_str().unwrap().to_owned();
    let forged = forged(&token);
    for token in [&token, &forged] {
        post(&data, "/v1/verify", &serde_json::json!({ "token": token }).to_string());
        let bearer = format!(
            "POST /v1/verify HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-length: 0\r\n\r\n"
        );
        assert_eq!(exchange(&data, &bearer).unwrap().0, 200);
    }
    let http2 = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let client = crate::support::server::http_client().http2_prior_knowledge().build().unwrap();
        let bearer = format!("Bearer {token}");
        client.post(format!("http://{data}/v1/verify")).header("authorization", bearer).send().await.unwrap().status()
    });
    assert_eq!(http2, 200);
    assert_eq!(server.terminate(), Some(0));
    let log = server.log();
    let lines = lines_of_json(&log);
    assert!(lines.iter().any(|line| line["message"] == "drained"), "{log}");
    assert!(lines.iter().any(|line| line["reason"] == "SignatureInvalid" && line["issuer"] == "dev"), "{log}");
    for segment in token.split('.').chain(forged.split('.')).chain(["a-subject-to-look-for"]) {
        assert!(!log.contains(segment), "{segment} is in the log");
    }
}

#[test]
fn keys_found_through_discovery_serve_on_while_the_issuer_is_down() {
    let free = "127.0.0.1:0";
    let mut issuer =
        Server::spawn(verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]));
    issuer.wait_for_line("Ctrl-C");
    let address = issuer.address("issuer  ");
    let token = post(&address, "/dev/mint", "{\"alg\":\"PS384\"}")["token"].as_str().unwrap().to_owned();
    // Its secret is known to the issuer alone: the published document cannot hold it.
    let symmetric = post(&address, "/dev/mint", "{\"alg\":\"HS256\"}")["token"].as_str().unwrap().to_owned();

    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("verilane.yaml");
    let text = format!(
        "{ANY_PORTS}shutdown: {{announce: 0}}\nissuers:\n  - name: dev\n    issuer: http://{address}\n    \
         audiences: [verilane-dev]\n    keys: {{discovery: true, plain_http: loopback}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut server = Server::spawn(verilane(&["serve", "--config", config.to_str().unwrap()]));
    let (data, admin) = server.serving();
    eventually("ready", || get(&admin, "/readyz"), |answer| answer.as_ref().is_some_and(|(status, _)| *status == 200));
    let verify = |token: &str| post(&data, "/v1/verify", &serde_json::json!({ "token": token }).to_string());
    assert_eq!(verify(&token)["verdict"], "accepted");
    assert_eq!(verify(&forged(&token))["reason"], "signature_invalid");
    assert_eq!(issuer.terminate(), Some(0));
    assert_eq!(verify(&token)["verdict"], "accepted");
    assert_eq!(verify(&symmetric)["reason"], "unknown_kid");
    assert_eq!(server.terminate(), Some(0), "{}", server.log());
}

#[test]
fn what_was_begun_is_finished_after_the_signal_to_stop() {
    let free = "127.0.0.1:0";
    let mut server =
        Server::spawn(verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]));
    server.wait_for_line("Ctrl-C");
    let (data, admin, issuer) = (server.address("data    "), server.address("admin   "), server.address("issuer  "));
    let token = post(&issuer, "/dev/mint", "")["token"].as_str().unwrap().to_owned();
    let body = format!("{{\"token\":\"{token}\"}}");
    let (before, after) = body.split_at(body.len() / 2);

    let mut stream = TcpStream::connect(&data).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The answer to `expect` shows that the service has begun with this request.
    let head = format!(
        "POST /v1/verify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(before.as_bytes()).unwrap();

    server.ask_to_stop();
    eventually(
        "draining",
        || get(&admin, "/readyz"),
        |answer| answer.as_ref().is_some_and(|(status, _)| *status == 503),
    );
    eventually("the listener is closed", || TcpStream::connect(&data).is_err(), |closed| *closed);
    stream.write_all(after.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"verdict\":\"accepted\""), "{answer}");
    assert_eq!(server.ended(), Some(0), "{}", server.log());
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let free = "127.0.0.1:0";
    let command = verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]);
    let mut server = Server::spawn_logging_to(command, "/dev/full");
    server.wait_for_line("Ctrl-C");
    let (data, issuer) = (server.address("data    "), server.address("issuer  "));
    let token = post(&issuer, "/dev/mint", "")["token"].as_str().unwrap().to_owned();
    assert_eq!(post(&data, "/v1/verify", &format!("{{\"token\":\"{token}\"}}"))["verdict"], "accepted");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let free = "127.0.0.1:0";
    let mut command = verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]);
    command.env("VERILANE__TELEMETRY__LOG_LEVEL", "debug");
    let (mut server, log) = Server::spawn_logging_to_pipe(command);
    server.wait_for_line("Ctrl-C");
    let (data, admin, issuer) = (server.address("data    "), server.address("admin   "), server.address("issuer  "));
    let token = post(&issuer, "/dev/mint", "{}")["token"].as_str().unwrap().to_owned();
    // One line of a hundred bytes or more for each token: many times what a pipe holds, and more than what may wait.
    let forged = forged(&token);
    let batch = serde_json::to_string(&vec![forged.as_str(); 1000]).unwrap();
    for _ in 0..20 {
        // HTTP/1.0: an answer that is not cut into chunks.
        let head = "POST /v1/verify:batch HTTP/1.0\r\ncontent-type: application/json\r\n";
        let request = format!("{head}content-length: {}\r\n\r\n{batch}", batch.len());
        let (_, answers) = exchange(&data, &request).unwrap();
        let answers: Vec<Value> = serde_json::from_str(&answers).unwrap();
        assert_eq!(answers.len(), 1000);
        assert!(answers.iter().all(|answer| answer["reason"] == "signature_invalid"), "{}", answers[0]);
    }
    for _ in 0..100 {
        let verdict = post(&data, "/v1/verify", &format!("{{\"token\":\"{forged}\"}}"));
        assert_eq!(verdict["reason"], "signature_invalid");
    }
    let (_, page) = get(&admin, "/metrics").unwrap();
    let lost = page.lines().find_map(|line| line.strip_prefix("verilane_log_lines_lost_total ")).expect("the metric");
    assert!(lost.parse::<f64>().unwrap() > 0.0, "{lost}");
    assert_eq!(server.terminate(), Some(0));
    drop(log);
}

#[cfg(unix)]
#[test]
fn clients_cannot_take_the_descriptors_of_the_admin_listener() {
    let free = "127.0.0.1:0";
    let binary = verilane(&[]);
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg("ulimit -n 96 && exec \"$0\" \"$@\"").arg(binary.get_program());
    command.args(["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]);
    let mut server = Server::spawn(command);
    server.wait_for_line("Ctrl-C");
    let (data, admin) = (server.address("data    "), server.address("admin   "));
    let _open: Vec<_> = (0..150).map(|_| TcpStream::connect(&data).unwrap()).collect();
    eventually(
        "connections are refused",
        || get(&admin, "/metrics").expect("the admin listener answers").1,
        |page| {
            page.lines().any(|line| line.starts_with("verilane_connections_refused_total ") && !line.ends_with(" 0"))
        },
    );
    assert_eq!(get(&admin, "/livez").map(|(status, _)| status), Some(200));
    assert!(server.log().contains("the limit of open files is too low"), "{}", server.log());
}

#[test]
fn while_the_stop_is_announced_requests_are_still_answered() {
    let free = "127.0.0.1:0";
    let mut command = verilane(&["serve", "--dev", "--listen", free, "--admin", free, "--dev-issuer", free]);
    command.env("VERILANE__SHUTDOWN__ANNOUNCE", "1h");
    let mut server = Server::spawn(command);
    server.wait_for_line("Ctrl-C");
    let (data, admin) = (server.address("data    "), server.address("admin   "));
    // Wrappers send a signal twice at once; that is one request.
    server.ask_to_stop();
    server.ask_to_stop();
    eventually(
        "readiness says no",
        || get(&admin, "/readyz"),
        |answer| answer.as_ref().is_some_and(|(status, _)| *status == 503),
    );
    assert_eq!(get(&data, "/openapi.json").map(|(status, _)| status), Some(200));
    // A later signal ends the waiting.
    assert_eq!(server.terminate_until_ended(), Some(2), "{}", server.log());
}
