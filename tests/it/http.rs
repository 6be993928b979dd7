//! Wire behaviour of the HTTP face against the real server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use verilane::faces::FaceSettings;
use verilane::http::ConnectionSettings;

use super::support::server::{ISSUER, ISSUER_NAME, KEY_ID, Options, Server, break_signature, http_client};

const NDJSON: &str = "application/x-ndjson";

fn client() -> Client {
    http_client().build().unwrap()
}

fn post_json(server: &Server, path: &str, body: &Value) -> RequestBuilder {
    client().post(server.url(path)).header("content-type", "application/json").body(body.to_string())
}

async fn json_of(response: Response) -> Value {
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn lines_of(response: Response) -> Vec<Value> {
    let text = response.text().await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Asserts problem details with this status and code, and returns the detail.
async fn problem(response: Response, status: u16, code: &str) -> String {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem = json_of(response).await;
    assert_eq!(problem["code"], code, "{problem}");
    assert_eq!(problem["status"], status);
    assert_eq!(problem["type"], format!("urn:verilane:problem:{code}"));
    assert!(problem["title"].is_string());
    problem["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_good_token_is_accepted_with_its_claims() {
    let server = Server::start();
    let token = server.token("alice");
    let request =
        post_json(&server, "/v1/verify", &json!({ "token": token, "issuer": ISSUER_NAME, "audience": "api" }));
    let response = request.header("x-request-id", "r-1").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["x-request-id"], "r-1");
    let verdict = json_of(response).await;
    assert_eq!(verdict["verdict"], "accepted");
    assert_eq!(verdict["issuer_name"], ISSUER_NAME);
    assert_eq!(verdict["algorithm"], "EdDSA");
    assert_eq!(verdict["key_id"], KEY_ID);
    assert_eq!(verdict["issuer"], ISSUER);
    assert_eq!(verdict["subject"], "alice");
    assert_eq!(verdict["claims"]["sub"], "alice");
    assert_eq!(verdict["expires_at"], verdict["claims"]["exp"]);
}

#[tokio::test]
async fn a_rejected_token_is_a_verdict_and_not_an_http_error() {
    let server = Server::start();
    let good = server.token("alice");
    let cases = [
        (break_signature(&good), "signature_invalid"),
        (String::new(), "token_missing"),
        ("a.b".to_owned(), "token_malformed"),
        ("{}".to_owned(), "json_serialization_unsupported"),
        ("x".repeat(25 * 1024), "token_too_large"),
    ];
    for (token, reason) in cases {
        let response = post_json(&server, "/v1/verify", &json!({ "token": token })).send().await.unwrap();
        assert_eq!(response.status(), 200, "{reason}");
        let verdict = json_of(response).await;
        assert_eq!(verdict["verdict"], "rejected", "{reason}");
        assert_eq!(verdict["reason"], reason);
        assert!(verdict["detail"].is_string());
    }
    let other_audience = json!({ "token": good, "audience": "elsewhere" });
    let verdict = json_of(post_json(&server, "/v1/verify", &other_audience).send().await.unwrap()).await;
    assert_eq!(verdict["reason"], "audience_mismatch");
}

#[tokio::test]
async fn a_bearer_field_with_an_empty_body_is_a_request() {
    let server = Server::start();
    let token = server.token("alice");
    let post = || client().post(server.url("/v1/verify"));
    let verdict = json_of(post().bearer_auth(&token).send().await.unwrap()).await;
    assert_eq!(verdict["verdict"], "accepted");
    let verdict = json_of(post().bearer_auth(break_signature(&token)).send().await.unwrap()).await;
    assert_eq!(verdict["reason"], "signature_invalid");

    let twice = post().header("authorization", format!("Bearer {token}")).header("authorization", "Bearer x");
    problem(twice.send().await.unwrap(), 400, "credentials_ambiguous").await;
    let both = post_json(&server, "/v1/verify", &json!({ "token": token })).bearer_auth(&token);
    problem(both.send().await.unwrap(), 400, "credentials_ambiguous").await;
    problem(post().send().await.unwrap(), 400, "request_invalid").await;
    problem(post().basic_auth("a", Some("b")).send().await.unwrap(), 400, "request_invalid").await;
}

#[tokio::test]
async fn faulty_requests_get_problem_details() {
    let server = Server::start();
    let detail = problem(
        post_json(&server, "/v1/verify", &json!({ "tokne": "s3cret" })).send().await.unwrap(),
        400,
        "request_invalid",
    )
    .await;
    assert!(detail.contains("`token`") && !detail.contains("s3cret"), "{detail}");

    let client = client();
    let post = |path: &str| client.post(server.url(path));
    problem(post("/v1/verify").body("{").send().await.unwrap(), 415, "media_type_unsupported").await;
    let coded = post("/v1/verify").header("content-type", "application/json").header("content-encoding", "gzip");
    problem(coded.body("x").send().await.unwrap(), 415, "media_type_unsupported").await;
    problem(post("/v1/verify:batch").body("[]").send().await.unwrap(), 415, "media_type_unsupported").await;
    problem(post("/v2/verify").send().await.unwrap(), 404, "not_found").await;
    let get = client.get(server.url("/v1/verify")).send().await.unwrap();
    assert_eq!(get.headers()["allow"], "POST");
    problem(get, 405, "method_not_allowed").await;
    let large = json!({ "token": "x".repeat(64 * 1024) });
    problem(post_json(&server, "/v1/verify", &large).send().await.unwrap(), 413, "request_too_large").await;
    let text = post("/v1/verify:batch").header("content-type", "application/json").body(r#"{"token":"x"}"#);
    problem(text.send().await.unwrap(), 400, "request_invalid").await;
    let more = post("/v1/verify:batch").header("content-type", "application/json").body("[] []");
    problem(more.send().await.unwrap(), 400, "request_invalid").await;
}

#[tokio::test]
async fn an_overloaded_engine_answers_503_with_a_hint_at_once() {
    let server = Server::start_with(Options { slots: 1, held: true, ..Options::default() });
    let token = json!({ "token": server.token("alice") });
    let first = tokio::spawn(post_json(&server, "/v1/verify", &token).send());
    // The first takes the only slot sooner or later; from then on every other is refused.
    let refused = loop {
        let asked = tokio::time::timeout(
            Duration::from_millis(200),
            post_json(&server, "/v1/verify", &token).header("x-envoy-expected-rq-timeout-ms", "60000").send(),
        );
        match asked.await {
            Ok(response) => break response.unwrap(),
            // This one was faster than the first and waits in its place; it has gone now, its slot is still taken.
            Err(_) => continue,
        }
    };
    assert_eq!(refused.headers()["retry-after"], "1");
    problem(refused, 503, "overloaded").await;
    first.abort();
    server.release();
}

#[tokio::test]
async fn what_clients_sent_is_bounded_over_all_connections() {
    let faces = FaceSettings { held_bytes_max: 120_000, line_bytes_max: 40_000, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let token = server.token("alice");
    // Two streams reserve a line each, a third finds no room; neither does a large batch.
    let open = || RawStream::open(&server, "/v1/verify:batch", NDJSON);
    let mut streams = [open(), open()];
    for stream in &mut streams {
        stream.send(&format!("\"{token}\"\n"));
        stream.read_until("accepted");
    }
    assert!(open().read_until("overloaded").starts_with("HTTP/1.1 503 "));
    let batch = json!(vec![token.as_str(); 40]);
    problem(post_json(&server, "/v1/verify:batch", &batch).send().await.unwrap(), 503, "overloaded").await;
    let single = post_json(&server, "/v1/verify", &json!({ "token": token })).send().await.unwrap();
    assert_eq!(json_of(single).await["verdict"], "accepted");
    for mut stream in streams {
        stream.finish();
        stream.read_until("0\r\n\r\n");
    }
    // What they held is free again.
    let response = post_json(&server, "/v1/verify:batch", &batch).send().await.unwrap();
    assert_eq!(json_of(response).await.as_array().unwrap().len(), 40);
}

#[tokio::test]
async fn a_check_that_comes_too_late_is_not_done() {
    let server = Server::start_with(Options { held: true, ..Options::default() });
    let request = post_json(&server, "/v1/verify", &json!({ "token": server.token("alice") }));
    let asked = tokio::spawn(request.header("x-envoy-expected-rq-timeout-ms", "1").send());
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.release();
    problem(asked.await.unwrap().unwrap(), 504, "deadline_exceeded").await;
}

#[tokio::test]
async fn header_fields_of_begun_requests_are_bounded_over_all() {
    let faces = FaceSettings { held_bytes_max: 100_000, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, held: true, ..Options::default() });
    let token = json!({ "token": server.token("alice") });
    let field = "x".repeat(30_000);
    let begun: Vec<_> = (0..4)
        .map(|_| tokio::spawn(post_json(&server, "/v1/verify", &token).header("x-field", &field).send()))
        .collect();
    let mut refused = 0;
    // Three fit and wait for the engine; the fourth is answered at once.
    let (first, _, rest) = futures_util::future::select_all(begun).await;
    problem(first.unwrap().unwrap(), 503, "overloaded").await;
    refused += 1;
    server.release();
    for answer in rest {
        let response = answer.await.unwrap().unwrap();
        refused += usize::from(response.status() != 200);
    }
    assert_eq!(refused, 1);
    let response = post_json(&server, "/v1/verify", &token).header("x-field", &field).send().await.unwrap();
    assert_eq!(response.status(), 200, "what was answered is off the account");
}

#[tokio::test]
async fn no_item_of_a_batch_is_checked_after_its_caller_has_gone() {
    let faces = FaceSettings { window: 1, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, held: true, ..Options::default() });
    let token = server.token("alice");
    let request = post_json(&server, "/v1/verify:batch", &json!([token, token, token]));
    let asked = tokio::spawn(async move { request.header("x-envoy-expected-rq-timeout-ms", "1").send().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.release();
    let answers = json_of(asked.await.unwrap().unwrap()).await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3);
    for answer in answers {
        assert_eq!(answer["error"], "deadline_exceeded", "{answer}");
    }
}

#[tokio::test]
async fn a_json_batch_keeps_order_and_isolates_bad_items() {
    let server = Server::start();
    let good = server.token("alice");
    let body = json!([
        good,
        { "token": break_signature(&good), "id": 7 },
        { "token": good, "audience": "elsewhere", "id": "c" },
        { "tokne": good },
        17,
        { "token": good, "id": {} },
        { "token": good, "issuer": ISSUER },
    ]);
    let response = post_json(&server, "/v1/verify:batch", &body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    let answers = json_of(response).await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 7);
    assert_eq!(answers[0]["verdict"], "accepted");
    assert_eq!(answers[1]["id"], 7);
    assert_eq!(answers[1]["reason"], "signature_invalid");
    assert_eq!(answers[2]["id"], "c");
    assert_eq!(answers[2]["reason"], "audience_mismatch");
    for bad in &answers[3..6] {
        assert_eq!(bad["verdict"], "error");
        assert_eq!(bad["error"], "request_invalid");
    }
    assert_eq!(answers[6]["verdict"], "accepted");

    let empty = json_of(post_json(&server, "/v1/verify:batch", &json!([])).send().await.unwrap()).await;
    assert_eq!(empty, json!([]));
}

#[tokio::test]
async fn an_item_whose_audience_is_null_is_refused_under_its_id() {
    let server = Server::start();
    let token = server.token("alice");
    let response = post_json(&server, "/v1/verify", &json!({ "token": token, "audience": null })).send().await.unwrap();
    assert!(problem(response, 400, "request_invalid").await.contains("null"));
    let items = json!([{ "id": "a", "token": 5 }, { "id": "b", "token": token, "audience": null }, { "id": 3, "token": token }]);
    let answers = json_of(post_json(&server, "/v1/verify:batch", &items).send().await.unwrap()).await;
    let got: Vec<_> = answers.as_array().unwrap().iter().map(|answer| (&answer["id"], &answer["verdict"])).collect();
    assert_eq!(
        got,
        [(&json!("a"), &json!("error")), (&json!("b"), &json!("error")), (&json!(3), &json!("accepted"))],
        "{answers}"
    );
}

#[tokio::test]
async fn two_content_types_are_refused_and_codings_wherever_they_stand() {
    let server = Server::start();
    let body = json!({ "token": server.token("alice") });
    for path in ["/v1/verify", "/v1/verify:batch", "/v1/signatures:verify", "/v1/signatures:batch"] {
        let request = post_json(&server, path, &body).header("content-type", NDJSON);
        let detail = problem(request.send().await.unwrap(), 400, "request_invalid").await;
        assert!(detail.contains("Content-Type"), "{path}: {detail}");
        let request = post_json(&server, path, &body).header("content-encoding", "identity");
        let request = request.header("content-encoding", "gzip");
        problem(request.send().await.unwrap(), 415, "media_type_unsupported").await;
    }
}

#[tokio::test]
async fn a_json_batch_has_a_bounded_number_of_items() {
    let faces = FaceSettings { batch_items_max: 3, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let fits = post_json(&server, "/v1/verify:batch", &json!(["a", "b", "c"])).send().await.unwrap();
    assert_eq!(json_of(fits).await.as_array().unwrap().len(), 3);
    let too_many = post_json(&server, "/v1/verify:batch", &json!(["a", "b", "c", "d"])).send().await.unwrap();
    problem(too_many, 413, "request_too_large").await;
}

#[tokio::test]
async fn ten_thousand_lines_stream_in_order() {
    let server = Server::start();
    let good = server.token("alice");
    let bad = break_signature(&good);
    let is_good = |number: usize| number % 3 != 1;
    let mut body = String::new();
    for number in 0..10_000 {
        let token = if is_good(number) { &good } else { &bad };
        body.push_str(&format!("{{\"id\":{number},\"token\":\"{token}\"}}\n"));
    }
    let request = client().post(server.url("/v1/verify:batch")).header("content-type", NDJSON).body(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], NDJSON);
    let answers = lines_of(response).await;
    assert_eq!(answers.len(), 10_000);
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], number);
        assert_eq!(answer["verdict"], if is_good(number) { "accepted" } else { "rejected" }, "{number}");
    }
}

#[tokio::test]
async fn malformed_lines_get_an_error_line_and_the_stream_goes_on() {
    let faces = FaceSettings { line_bytes_max: 2000, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let good = server.token("alice");
    let long = "x".repeat(5000);
    let body = format!(
        "\"{good}\"\nnot json\n\n{{\"token\":\"{long}\"}}\n{{\"token\":\"{good}\"}}\r\n[\"{good}\"]\n\"{good}\""
    );
    let request = client().post(server.url("/v1/verify:batch")).header("content-type", NDJSON).body(body);
    let answers = lines_of(request.send().await.unwrap()).await;
    let summary: Vec<String> = answers
        .iter()
        .map(|answer| match answer["error"].as_str() {
            Some(error) => format!("{error} {}", answer["line"]),
            None => answer["verdict"].as_str().unwrap().to_owned(),
        })
        .collect();
    let want = ["accepted", "request_invalid 2", "request_too_large 4", "accepted", "request_invalid 6", "accepted"];
    assert_eq!(summary, want);
}

/// A raw HTTP/1.1 connection, to send a body piece by piece and read answers in between.
struct RawStream(TcpStream);

impl RawStream {
    fn open(server: &Server, path: &str, content_type: &str) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        self.0.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).unwrap();
    }

    fn finish(&mut self) {
        self.0.write_all(b"0\r\n\r\n").unwrap();
    }

    fn read_until(&mut self, end: &str) -> String {
        let mut got = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let count = self.0.read(&mut piece).unwrap();
            assert!(count > 0, "closed early: {}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&got);
            if text.contains(end) {
                return text.into_owned();
            }
        }
    }
}

#[test]
fn answers_come_while_the_client_still_sends() {
    let server = Server::start();
    let mut stream = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    for number in 0..3 {
        stream.send(&format!("{{\"id\":\"n{number}\",\"token\":\"{}\"}}\n", server.token("alice")));
        let answer = stream.read_until(&format!("\"id\":\"n{number}\""));
        assert!(answer.contains("accepted"), "{answer}");
    }
    stream.finish();
    stream.read_until("0\r\n\r\n");
}

#[test]
fn a_silent_stream_ends_with_an_error_line() {
    let faces = FaceSettings { body_timeout: Duration::from_millis(50), ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut stream = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    stream.send(&format!("\"{}\"\n", server.token("alice")));
    let text = stream.read_until("request_timeout");
    assert!(text.contains("accepted"), "{text}");
}

#[test]
fn a_body_that_never_comes_is_a_timeout() {
    let faces = FaceSettings { body_timeout: Duration::from_millis(50), ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut stream = RawStream::open(&server, "/v1/verify", "application/json");
    let text = stream.read_until("request_timeout");
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let connection =
        ConnectionSettings { header_read_timeout: Duration::from_millis(50), ..ConnectionSettings::default() };
    let server = Server::start_with(Options { connection, ..Options::default() });
    for opening in [&b""[..], b"PRI * HTTP", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"POST /v1/verify HT"] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(opening).unwrap();
        let mut rest = Vec::new();
        // A reset is an end as well; a timeout is not.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{opening:?}");
        }
    }
}

#[test]
fn a_drain_ends_streams_and_lets_the_server_end() {
    let mut server = Server::start();
    let token = server.token("alice");
    let mut stream = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    stream.send(&format!("\"{token}\"\n"));
    stream.read_until("accepted");
    server.begin_drain();
    let text = stream.read_until("shutting_down");
    assert!(text.contains("\"verdict\":\"error\""), "{text}");
    server.join();
}

#[test]
fn a_request_on_a_kept_connection_is_answered_when_the_drain_has_begun() {
    let connection = ConnectionSettings { drain_grace: Duration::from_secs(60), ..ConnectionSettings::default() };
    let mut server = Server::start_with(Options { connection, ..Options::default() });
    let request = format!(
        "POST /v1/verify HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nauthorization: Bearer {}\r\n\r\n",
        server.token("alice")
    );
    let mut stream = RawStream(TcpStream::connect(server.address).unwrap());
    stream.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.0.write_all(request.as_bytes()).unwrap();
    stream.read_until("\"claims\":{\"iss\"");
    server.begin_drain();
    std::thread::sleep(Duration::from_millis(50));
    stream.0.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.0.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("connection: close") && answer.contains("accepted"), "{answer}");
    server.join();
}

#[test]
fn a_kept_connection_without_a_request_is_closed_after_the_grace() {
    let connection = ConnectionSettings { drain_grace: Duration::from_millis(50), ..ConnectionSettings::default() };
    let mut server = Server::start_with(Options { connection, ..Options::default() });
    // Accepted before the other one, which is answered: a drain finds both.
    let mut unused = TcpStream::connect(server.address).unwrap();
    unused.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut kept = RawStream(TcpStream::connect(server.address).unwrap());
    kept.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    kept.0.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    kept.read_until("openapi");
    server.begin_drain();
    let mut rest = Vec::new();
    kept.0.read_to_end(&mut rest).unwrap();
    unused.read_to_end(&mut rest).unwrap();
    server.join();
}

#[test]
fn a_stalled_reader_does_not_stop_other_batches() {
    let faces = FaceSettings { bulk_in_flight_max: 4, window: 4, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let token = server.token("alice");
    let mut stalled = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    stalled.0.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Answers are not read, until nothing more can be sent.
    let line = format!("\"{token}\"\n").repeat(100);
    let chunk = format!("{:x}\r\n{line}\r\n", line.len());
    while stalled.0.write_all(chunk.as_bytes()).is_ok() {}
    let mut other = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    other.send(&format!("\"{token}\"\n"));
    assert!(other.read_until("verdict").contains("accepted"));
}

/// An HTTP/2 connection without a library, to break the rules of politeness with.
struct RawHttp2(TcpStream);

impl RawHttp2 {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const WINDOW_UPDATE: u8 = 8;

    /// Streams of this connection begin without a window for answers.
    fn open(server: &Server) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let mut client = Self(stream);
        let no_window = [0, 4, 0, 0, 0, 0];
        client.send(Self::SETTINGS, 0, 0, &no_window);
        client
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.0.write_all(&[&head, payload].concat()).unwrap();
    }

    /// Begins an NDJSON batch.
    fn begin(&mut self, stream: u32) {
        let mut block = vec![0x83, 0x86]; // :method POST, :scheme http
        for (name, value) in [(&[0x04][..], "/v1/verify:batch"), (&[0x01], "x"), (&[0x0f, 0x10], NDJSON)] {
            block.extend_from_slice(name);
            block.push(u8::try_from(value.len()).unwrap());
            block.extend_from_slice(value.as_bytes());
        }
        let end_headers = 4;
        self.send(Self::HEADERS, end_headers, stream, &block);
    }

    /// The payload of the next frame of `kind` on `stream`.
    fn next(&mut self, kind: u8, stream: u32) -> Vec<u8> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).unwrap();
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            self.0.read_exact(&mut payload).unwrap();
            if head[3] == kind && head[5..9] == stream.to_be_bytes() {
                return payload;
            }
            assert!(head[3] != Self::RST_STREAM, "stream {:?} was ended", &head[5..9]);
        }
    }
}

#[test]
fn an_http2_stream_whose_answer_is_not_taken_is_ended_and_no_other() {
    let patience = Duration::from_millis(100);
    let connection = ConnectionSettings { write_timeout: patience, ..ConnectionSettings::default() };
    let server = Server::start_with(Options { connection, ..Options::default() });
    let line = format!("\"{}\"\n", server.token("alice"));
    let mut client = RawHttp2::open(&server);
    for stream in [1, 3] {
        client.begin(stream);
        client.send(RawHttp2::DATA, 0, stream, line.as_bytes());
    }
    client.send(RawHttp2::WINDOW_UPDATE, 0, 3, &[0, 1, 0, 0]);
    assert!(String::from_utf8_lossy(&client.next(RawHttp2::DATA, 3)).contains("accepted"));
    client.next(RawHttp2::RST_STREAM, 1);
    // The other one has nothing to take, however long that lasts.
    std::thread::sleep(3 * patience);
    client.send(RawHttp2::DATA, 0, 3, line.as_bytes());
    assert!(String::from_utf8_lossy(&client.next(RawHttp2::DATA, 3)).contains("accepted"));
}

fn rfc8032_request() -> Value {
    json!({
        "algorithm": "EdDSA",
        "message": "",
        "signature": "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw",
        "key": { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    })
}

#[tokio::test]
async fn raw_signatures_are_verified_with_keys_by_value_and_by_id() {
    let server = Server::start();
    let ask = async |change: &dyn Fn(&mut Value)| {
        let mut body = rfc8032_request();
        change(&mut body);
        json_of(post_json(&server, "/v1/signatures:verify", &body).send().await.unwrap()).await
    };
    assert_eq!(ask(&|_| ()).await, json!({ "verdict": "accepted" }));
    type Change = fn(&mut Value);
    let by_reason: [(&str, Change); 6] = [
        ("signature_invalid", |body| body["message"] = json!("AA")),
        ("algorithm_unsupported", |body| body["algorithm"] = json!("none")),
        ("algorithm_mismatch", |body| body["algorithm"] = json!("ES256")),
        ("key_invalid", |body| body["key"]["x"] = json!("AQ")),
        ("key_invalid", |body| body["key"] = json!({ "kty": "AKP" })),
        ("key_invalid", |body| body["key"] = json!("text")),
    ];
    for (reason, change) in by_reason {
        let verdict = ask(&change).await;
        assert_eq!((&verdict["verdict"], &verdict["reason"]), (&json!("rejected"), &json!(reason)), "{verdict}");
    }

    let signature = verilane::jose::base64url::encode(&server.signer.signature("grüße".as_bytes()));
    let mut body = json!({
        "algorithm": "Ed25519", "message_text": "grüße", "signature": signature, "key_id": KEY_ID, "issuer": ISSUER,
    });
    let path = "/v1/signatures:verify";
    assert_eq!(json_of(post_json(&server, path, &body).send().await.unwrap()).await["verdict"], "accepted");
    body["key_id"] = json!("key-2");
    assert_eq!(json_of(post_json(&server, path, &body).send().await.unwrap()).await["reason"], "unknown_kid");
    body["signature"] = json!("A+==");
    problem(post_json(&server, path, &body).send().await.unwrap(), 400, "request_invalid").await;
}

#[tokio::test]
async fn raw_signatures_come_in_batches_too() {
    let server = Server::start();
    let good = rfc8032_request();
    let mut bad = good.clone();
    bad["message_text"] = json!("x");
    bad.as_object_mut().unwrap().remove("message");
    let body = json!([good, bad, {}]);
    let answers = json_of(post_json(&server, "/v1/signatures:batch", &body).send().await.unwrap()).await;
    assert_eq!(answers[0], json!({ "verdict": "accepted" }));
    assert_eq!(answers[1]["reason"], "signature_invalid");
    assert_eq!(answers[2]["error"], "request_invalid");

    let lines: String = body.as_array().unwrap().iter().map(|item| format!("{item}\n")).collect();
    let request = client().post(server.url("/v1/signatures:batch")).header("content-type", NDJSON).body(lines);
    let streamed = lines_of(request.send().await.unwrap()).await;
    assert_eq!(streamed[..2], answers.as_array().unwrap()[..2]);
    assert_eq!(streamed[2]["line"], 3);
}

#[tokio::test]
async fn the_openapi_document_describes_every_operation() {
    let server = Server::start();
    let document = json_of(client().get(server.url("/openapi.json")).send().await.unwrap()).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    for path in ["/v1/verify", "/v1/verify:batch", "/v1/signatures:verify", "/v1/signatures:batch"] {
        let operation = &paths[path]["post"];
        assert!(operation["requestBody"]["content"].is_object(), "{path}");
        assert!(operation["responses"]["200"]["content"].is_object(), "{path}");
        assert!(operation["responses"]["413"]["content"]["application/problem+json"].is_object(), "{path}");
    }
    for path in ["/v1/verify:batch", "/v1/signatures:batch"] {
        assert!(paths[path]["post"]["requestBody"]["content"][NDJSON].is_object(), "{path}");
    }
    // A token in the header goes without a body.
    let verify = &paths["/v1/verify"]["post"];
    assert_eq!(verify["requestBody"]["required"], false);
    assert_eq!(verify["security"], json!([{}, { "bearer": [] }]));
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    // Every reference leads somewhere.
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect_references(element, found)),
        _ => {}
    }
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_spoken_on_the_same_port() {
    let server = Server::start();
    let client = http_client().http2_prior_knowledge().build().unwrap();
    let body = Bytes::from(json!({ "token": server.token("alice") }).to_string());
    let asked = (0..64).map(|_| {
        let request = client.post(server.url("/v1/verify")).header("content-type", "application/json");
        tokio::spawn(request.body(body.clone()).send())
    });
    for answer in asked.collect::<Vec<_>>() {
        let response = answer.await.unwrap().unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        assert_eq!(json_of(response).await["verdict"], "accepted");
    }
}

/// One HTTP/2 frame: type, flags, stream, payload (RFC 9113 section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads frames until the server closes the connection; the types of those that came. Answers pings if `polite`.
fn frames_to_the_end(stream: &mut TcpStream, polite: bool) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).unwrap();
        kinds.push(head[3]);
        if polite && head[3] == 6 && head[4] == 0 {
            stream.write_all(&frame(6, 1, 0, &payload)).unwrap();
        }
    }
    kinds
}

#[test]
fn an_http2_client_that_asked_once_does_not_keep_its_connection_for_ever() {
    let connection = ConnectionSettings { idle_timeout: Duration::from_millis(100), ..ConnectionSettings::default() };
    let server = Server::start_with(Options { connection, ..Options::default() });
    for polite in [true, false] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        stream.write_all(&frame(4, 0, 0, &[])).unwrap();
        // GET /openapi.json, ended; the first two fields are in the static table of RFC 7541.
        let mut fields = vec![0x82, 0x86, 0x04, 13];
        fields.extend_from_slice(b"/openapi.json");
        fields.extend_from_slice(&[0x01, 1, b'x']);
        stream.write_all(&frame(1, 0x4 | 0x1, 1, &fields)).unwrap();
        let started = std::time::Instant::now();
        let kinds = frames_to_the_end(&mut stream, polite);
        assert!(started.elapsed() < Duration::from_secs(20), "the server closed it, not our patience");
        let at = |kind| kinds.iter().position(|each| *each == kind);
        assert!(at(1).is_some() && at(7) > at(1), "an answer, then a goodbye: {kinds:?}");
    }
}

#[test]
fn a_kept_alive_http1_connection_is_closed_when_it_is_idle() {
    let connection = ConnectionSettings { idle_timeout: Duration::from_millis(100), ..ConnectionSettings::default() };
    let server = Server::start_with(Options { connection, ..Options::default() });
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server closes the connection");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_connection_with_an_open_stream_is_not_idle() {
    let connection = ConnectionSettings { idle_timeout: Duration::from_millis(20), ..ConnectionSettings::default() };
    let server = Server::start_with(Options { connection, ..Options::default() });
    let mut stream = RawStream::open(&server, "/v1/verify:batch", NDJSON);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(100));
        stream.send(&format!("\"{}\"\n", server.token("alice")));
        assert!(stream.read_until("verdict").contains("accepted"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_read_stays_on_the_account() {
    // Room for the header fields and one answer of the document, not for two.
    let length = {
        let server = Server::start();
        client().get(server.url("/openapi.json")).send().await.unwrap().bytes().await.unwrap().len()
    };
    let faces = FaceSettings { held_bytes_max: length * 3 / 2, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    // A window of nothing: answers stay where they are.
    stream.write_all(&frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])).unwrap();
    let mut fields = vec![0x82, 0x86, 0x04, 13];
    fields.extend_from_slice(b"/openapi.json");
    fields.extend_from_slice(&[0x01, 1, b'x']);
    stream.write_all(&frame(1, 0x4 | 0x1, 1, &fields)).unwrap();
    let ask = async || client().get(server.url("/openapi.json")).send().await.unwrap().status().as_u16();
    let patience = Duration::from_secs(20);
    let refused = async { while ask().await == 200 {} };
    tokio::time::timeout(patience, refused).await.expect("there is no room for a second answer");
    drop(stream);
    let answered = async { while ask().await != 200 {} };
    tokio::time::timeout(patience, answered).await.expect("what is gone is off the account");
}
