//! Wire behaviour of the gRPC face against the real server.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use verilane::faces::FaceSettings;
use verilane::grpc::proto::verifier_client::VerifierClient;
use verilane::grpc::proto::{
    KeyReference, Reason, Rejected, VerifyAnswer, VerifyBatchRequest, VerifyRequest, VerifySignatureRequest,
    VerifyStreamRequest, verify_answer, verify_response, verify_signature_request, verify_signature_response,
};

use super::support::server::{ISSUER, ISSUER_NAME, KEY_ID, Options, Server, break_signature, http_client};

async fn channel(server: &Server) -> Channel {
    Channel::from_shared(server.url("")).unwrap().connect().await.unwrap()
}

async fn client(server: &Server) -> VerifierClient<Channel> {
    VerifierClient::new(channel(server).await)
}

fn ask(token: impl Into<String>) -> VerifyRequest {
    VerifyRequest { token: token.into(), issuer: None, audience: None }
}

fn rejected(answer: &VerifyAnswer) -> &Rejected {
    match answer.answer.as_ref().unwrap() {
        verify_answer::Answer::Rejected(rejected) => rejected,
        other => panic!("not rejected: {other:?}"),
    }
}

fn is_accepted(answer: &VerifyAnswer) -> bool {
    matches!(answer.answer, Some(verify_answer::Answer::Accepted(_)))
}

#[tokio::test]
async fn the_same_tokens_get_the_same_answers_through_both_faces() {
    let server = Server::start();
    let mut grpc = client(&server).await;
    let http = http_client().build().unwrap();
    let good = server.token("alice");
    let expired = server
        .signer
        .token(&format!(r#"{{"alg":"EdDSA","kid":"{KEY_ID}"}}"#), &format!(r#"{{"iss":"{ISSUER}","exp":1}}"#));
    let requests = [
        ask(&good),
        VerifyRequest { token: good.clone(), issuer: Some(ISSUER_NAME.into()), audience: Some("api".into()) },
        VerifyRequest { token: good.clone(), issuer: Some("nobody".into()), audience: None },
        VerifyRequest { token: good.clone(), issuer: None, audience: Some("elsewhere".into()) },
        ask(break_signature(&good)),
        ask(expired),
        ask(""),
        ask("a.b.c"),
        ask(good.replacen('.', "..", 1)),
        ask("x".repeat(25 * 1024)),
    ];
    for request in requests {
        let mut body = serde_json::json!({ "token": request.token });
        if let Some(issuer) = &request.issuer {
            body["issuer"] = issuer.as_str().into();
        }
        if let Some(audience) = &request.audience {
            body["audience"] = audience.as_str().into();
        }
        let post = http.post(server.url("/v1/verify")).header("content-type", "application/json");
        let text = post.body(body.to_string()).send().await.unwrap().text().await.unwrap();
        let want: Value = serde_json::from_str(&text).unwrap();
        match grpc.verify(request).await.unwrap().into_inner().verdict.unwrap() {
            verify_response::Verdict::Accepted(got) => {
                assert_eq!(want["verdict"], "accepted");
                assert_eq!(want["issuer_name"], got.issuer_name);
                assert_eq!(want["algorithm"], got.algorithm);
                assert_eq!(want["key_id"].as_str(), got.key_id.as_deref());
                assert_eq!(want["issuer"].as_str(), got.issuer.as_deref());
                assert_eq!(want["subject"].as_str(), got.subject.as_deref());
                assert_eq!(want["expires_at"].as_i64(), got.expires_at);
                assert_eq!(want["claims"], serde_json::from_slice::<Value>(&got.claims).unwrap());
            }
            verify_response::Verdict::Rejected(got) => {
                assert_eq!(want["verdict"], "rejected");
                assert_eq!(want["reason"], got.code);
                assert_eq!(want["detail"], got.detail);
                assert_eq!(want["segment"].as_str(), got.segment.as_deref());
                assert_eq!(want["position"].as_u64(), got.position);
                let name = format!("REASON_{}", got.code.to_uppercase());
                assert_eq!(Reason::from_str_name(&name), Some(got.reason()), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_batch_keeps_order_and_is_bounded() {
    let faces = FaceSettings { window: 3, batch_items_max: 100, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut client = client(&server).await;
    let good = server.token("alice");
    let bad = break_signature(&good);
    let token = |number: usize| if number % 3 == 1 { ask(&bad) } else { ask(&good) };
    let requests: Vec<_> = (0..100).map(token).collect();
    let answers = client.verify_batch(VerifyBatchRequest { requests }).await.unwrap().into_inner().answers;
    assert_eq!(answers.len(), 100);
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(is_accepted(answer), number % 3 != 1, "{number}");
    }
    let requests = (0..101).map(token).collect();
    let status = client.verify_batch(VerifyBatchRequest { requests }).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "request_too_large", "as over HTTP");
    let empty = client.verify_batch(VerifyBatchRequest { requests: Vec::new() }).await.unwrap().into_inner();
    assert!(empty.answers.is_empty());
}

#[tokio::test]
async fn a_stream_answers_every_request_once_by_its_id() {
    let server = Server::start();
    let mut client = client(&server).await;
    let good = server.token("alice");
    let bad = break_signature(&good);
    let requests = stream::iter((0..10_000_u64).map(move |id| {
        let request = match id % 4 {
            3 => None,
            1 => Some(ask(&bad)),
            _ => Some(ask(&good)),
        };
        VerifyStreamRequest { id, request }
    }));
    let mut answers = client.verify_stream(requests).await.unwrap().into_inner();
    let mut seen = BTreeMap::new();
    while let Some(answer) = answers.next().await {
        let answer = answer.unwrap();
        assert!((1..=256).contains(&answer.in_flight), "{}", answer.in_flight);
        assert!(seen.insert(answer.id, answer.answer.unwrap()).is_none(), "{} twice", answer.id);
    }
    assert_eq!(seen.len(), 10_000);
    for (id, answer) in &seen {
        match id % 4 {
            3 => assert!(
                matches!(&answer.answer, Some(verify_answer::Answer::Error(failure)) if failure.code == "request_invalid")
            ),
            1 => assert_eq!(rejected(answer).code, "signature_invalid"),
            _ => assert!(is_accepted(answer), "{id}"),
        }
    }
}

#[tokio::test]
async fn a_stream_answers_before_the_client_is_done() {
    let server = Server::start();
    let mut client = client(&server).await;
    let (send, receive) = tokio::sync::mpsc::channel(1);
    let requests = stream::unfold(receive, |mut receive| async { Some((receive.recv().await?, receive)) });
    let mut answers = client.verify_stream(requests).await.unwrap().into_inner();
    for id in 0..3 {
        send.send(VerifyStreamRequest { id, request: Some(ask(server.token("alice"))) }).await.unwrap();
        let answer = answers.next().await.unwrap().unwrap();
        assert_eq!(answer.id, id);
        assert!(is_accepted(&answer.answer.unwrap()));
    }
    drop(send);
    assert!(answers.next().await.is_none());
}

#[tokio::test]
async fn a_drain_ends_a_stream_with_unavailable_and_turns_health() {
    let mut server = Server::start();
    let channel = channel(&server).await;
    let mut health = HealthClient::new(channel.clone());
    for service in ["", "verilane.v1.Verifier"] {
        let request = tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let mut watch = health.watch(tonic_health::pb::HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.next().await.unwrap().unwrap().status(), ServingStatus::Serving);

    let mut client = VerifierClient::new(channel);
    let requests = stream::iter([VerifyStreamRequest { id: 1, request: Some(ask(server.token("alice"))) }]);
    let mut answers = client.verify_stream(requests.chain(stream::pending())).await.unwrap().into_inner();
    assert!(answers.next().await.unwrap().is_ok());
    server.begin_drain();
    let status = answers.next().await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "shutting_down");
    while let Some(answer) = watch.next().await {
        assert_eq!(answer.unwrap().status(), ServingStatus::NotServing);
    }
    drop((health, client));
    // Elsewhere, because the connection ends only when the client, on this thread, has answered the goodbye.
    tokio::task::spawn_blocking(move || server.join()).await.unwrap();
}

#[tokio::test]
async fn overload_and_lateness_are_statuses_with_hints() {
    let server = Server::start_with(Options { slots: 1, held: true, ..Options::default() });
    let mut client = client(&server).await;
    let token = server.token("alice");
    let mut late = Request::new(ask(&token));
    late.set_timeout(Duration::from_millis(100));
    assert!(client.verify(late).await.is_err(), "the client's own timer ends the call");

    // The job of the call above is abandoned and still holds the only slot.
    let status = client.verify(ask(&token)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "overloaded");
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").unwrap(), "1000");
    server.release();
}

#[tokio::test]
async fn a_stream_larger_than_the_engine_is_held_back_and_not_shed() {
    let faces = FaceSettings { bulk_in_flight_max: 8, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, slots: 16, ..Options::default() });
    let mut client = client(&server).await;
    let token = server.token("alice");
    let requests = (0..2000).map(move |id| VerifyStreamRequest { id, request: Some(ask(&token)) });
    let mut answers = client.verify_stream(stream::iter(requests)).await.unwrap().into_inner();
    let mut count = 0;
    while let Some(answer) = answers.next().await {
        assert!(is_accepted(&answer.unwrap().answer.unwrap()));
        count += 1;
    }
    assert_eq!(count, 2000);
}

#[tokio::test]
async fn each_method_has_its_bound_on_messages_and_the_sum_is_bounded() {
    let faces = FaceSettings { held_bytes_max: 400_000, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut client = client(&server).await;
    let token = server.token("alice");
    let large = ask("x".repeat(50_000));
    let mut statuses = vec![client.verify(large.clone()).await.unwrap_err()];
    let requests = stream::iter([VerifyStreamRequest { id: 1, request: Some(large) }]);
    let mut answers = client.verify_stream(requests).await.unwrap().into_inner();
    statuses.push(answers.next().await.unwrap().unwrap_err());
    for status in statuses {
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert_eq!(status.metadata().get("verilane-code").unwrap(), "request_too_large");
    }
    let requests = vec![ask(&token); 1000];
    let status = client.verify_batch(VerifyBatchRequest { requests }).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "overloaded");
    let requests = vec![ask(&token); 100];
    let answers = client.verify_batch(VerifyBatchRequest { requests }).await.unwrap().into_inner().answers;
    assert!(answers.iter().all(is_accepted));
    assert!(client.verify(ask(&token)).await.is_ok());
}

#[tokio::test]
async fn a_message_that_does_not_come_is_not_waited_for() {
    use http_body_util::StreamBody;
    use tonic::codegen::Service as _;

    let faces = FaceSettings { body_timeout: Duration::from_millis(100), ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut channel = channel(&server).await;
    for method in ["Verify", "VerifySignature", "VerifyBatch"] {
        // Not compressed, 100 bytes long, of which one comes.
        let begun = Bytes::from_static(&[0, 0, 0, 0, 100, 10]);
        let frames = stream::iter([Ok::<_, std::convert::Infallible>(http_body::Frame::data(begun))]);
        let request = http::Request::post(server.url(&format!("/verilane.v1.Verifier/{method}")))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(tonic::body::Body::new(StreamBody::new(frames.chain(stream::pending()))))
            .unwrap();
        std::future::poll_fn(|cx| channel.poll_ready(cx)).await.unwrap();
        let response = channel.call(request).await.unwrap();
        let status = tonic::Status::from_header_map(response.headers()).expect("answered without a message");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{method}");
        assert_eq!(status.metadata().get("verilane-code").unwrap(), "request_timeout", "{method}");
    }
    assert!(VerifierClient::new(channel).verify(ask(server.token("alice"))).await.is_ok());
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_faults_of_the_request_with_a_code() {
    use http_body_util::{BodyExt as _, Full};
    use tonic::codegen::Service as _;

    let server = Server::start();
    let mut channel = channel(&server).await;
    // Each: the coding that is announced, what is sent, and the status and code.
    let cases: [(&str, &[u8], Code, &str); 5] = [
        // A field of five bytes, of which none comes.
        ("identity", &[0, 0, 0, 0, 2, 10, 5], Code::InvalidArgument, "request_invalid"),
        // The first field as a number.
        ("identity", &[0, 0, 0, 0, 2, 8, 1], Code::InvalidArgument, "request_invalid"),
        // Less than what the frame announces.
        ("identity", &[0, 0, 0, 0, 9, 10], Code::InvalidArgument, "request_invalid"),
        // Said to be compressed, with no word on how.
        ("identity", &[1, 0, 0, 0, 2, 10, 0], Code::InvalidArgument, "request_invalid"),
        ("gzip", &[1, 0, 0, 0, 2, 10, 0], Code::Unimplemented, "media_type_unsupported"),
    ];
    for method in ["Verify", "VerifySignature", "VerifyBatch", "VerifyStream"] {
        for (coding, sent, want, code) in cases {
            if method == "VerifyStream" && sent[5..] == [8, 1] {
                // There the first field is a number.
                continue;
            }
            let request = http::Request::post(server.url(&format!("/verilane.v1.Verifier/{method}")))
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .header("grpc-encoding", coding)
                .body(tonic::body::Body::new(Full::new(Bytes::copy_from_slice(sent))))
                .unwrap();
            std::future::poll_fn(|cx| channel.poll_ready(cx)).await.unwrap();
            let (head, body) = channel.call(request).await.unwrap().into_parts();
            let trailers = body.collect().await.unwrap().trailers().cloned();
            let status = tonic::Status::from_header_map(&head.headers)
                .or_else(|| tonic::Status::from_header_map(&trailers?))
                .expect("a status");
            assert_eq!(status.code(), want, "{method} {coding} {sent:?}: {status}");
            assert_eq!(status.metadata().get("verilane-code").unwrap(), code, "{method} {coding} {sent:?}");
        }
    }
    assert!(VerifierClient::new(channel).verify(ask(server.token("alice"))).await.is_ok());
}

#[tokio::test]
async fn raw_signatures_are_verified() {
    let server = Server::start();
    let mut client = client(&server).await;
    let request = VerifySignatureRequest {
        algorithm: "EdDSA".to_owned(),
        message: Bytes::from_static(b"hello"),
        signature: server.signer.signature(b"hello").into(),
        key: Some(verify_signature_request::Key::KeyReference(KeyReference {
            issuer: None,
            key_id: KEY_ID.to_owned(),
        })),
    };
    let by_value = VerifySignatureRequest {
        key: Some(verify_signature_request::Key::Jwk(server.signer.jwk(None))),
        ..request.clone()
    };
    for request in [request.clone(), by_value] {
        let verdict = client.verify_signature(request.clone()).await.unwrap().into_inner().verdict.unwrap();
        assert!(matches!(verdict, verify_signature_response::Verdict::Accepted(_)));
        let other = VerifySignatureRequest { message: Bytes::from_static(b"other"), ..request };
        match client.verify_signature(other).await.unwrap().into_inner().verdict.unwrap() {
            verify_signature_response::Verdict::Rejected(got) => assert_eq!(got.reason(), Reason::SignatureInvalid),
            verify_signature_response::Verdict::Accepted(_) => panic!("accepted another message"),
        }
    }
    let without = VerifySignatureRequest { key: None, ..request };
    assert_eq!(client.verify_signature(without).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_versions() {
    macro_rules! services {
        ($version:ident, $channel:expr) => {{
            use tonic_reflection::pb::$version::ServerReflectionRequest;
            use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
            use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
            use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
            let message_request = Some(MessageRequest::ListServices(String::new()));
            let request = ServerReflectionRequest { host: String::new(), message_request };
            let mut client = ServerReflectionClient::new($channel);
            let answers = client.server_reflection_info(stream::iter([request])).await.unwrap();
            let answer = answers.into_inner().next().await.unwrap().unwrap().message_response.unwrap();
            let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
            list.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
        }};
    }
    let server = Server::start();
    let channel = channel(&server).await;
    for services in [services!(v1, channel.clone()), services!(v1alpha, channel.clone())] {
        for service in ["verilane.v1.Verifier", "grpc.health.v1.Health"] {
            assert!(services.iter().any(|name| name == service), "{service} in {services:?}");
        }
    }
}

#[tokio::test]
async fn requests_of_two_bytes_count_for_what_they_and_their_answers_take() {
    let faces = FaceSettings { held_bytes_max: 400_000, ..FaceSettings::default() };
    let server = Server::start_with(Options { faces, ..Options::default() });
    let mut client = client(&server).await;
    // Two bytes each on the wire, a value of some hundred bytes each when decoded and answered.
    let empty = |count| VerifyBatchRequest { requests: vec![VerifyRequest::default(); count] };
    let status = client.verify_batch(empty(1000)).await.unwrap_err();
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "overloaded", "{status}");
    let answers = client.verify_batch(empty(100)).await.unwrap().into_inner().answers;
    assert!(answers.iter().all(|answer| rejected(answer).code == "token_missing"));
}

#[tokio::test]
async fn the_deadline_of_a_stream_ends_it() {
    let server = Server::start();
    let mut client = client(&server).await;
    let requests = stream::iter([VerifyStreamRequest { id: 1, request: Some(ask(server.token("alice"))) }]);
    let mut call = Request::new(requests.chain(stream::pending()));
    call.set_timeout(Duration::from_millis(500));
    let mut answers = client.verify_stream(call).await.unwrap().into_inner();
    assert!(is_accepted(&answers.next().await.unwrap().unwrap().answer.unwrap()));
    let end = tokio::time::timeout(Duration::from_secs(20), answers.next()).await.expect("the stream ends");
    let status = end.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.metadata().get("verilane-code").unwrap(), "deadline_exceeded", "the service ended it");
}
