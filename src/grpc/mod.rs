//! Layer 4: the gRPC face. Owns the protobuf messages, their mapping from and to `verify`, and the services
//! `verilane.v1.Verifier`, health and reflection. Knows no cryptography; status codes come from [`crate::api`].

mod convert;
mod debug;
mod health;
mod intake;
mod items;
mod service;
mod stream;

/// Messages and service traits generated from `proto/verilane/v1/verilane.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, clippy::nursery, reason = "generated")]
pub mod proto {
    tonic::include_proto!("verilane.v1");
}

/// Descriptors of the service, for reflection.
pub static FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/verilane.v1.bin"));

pub use health::ServingState;

use std::sync::Arc;

use axum::{Router, middleware};
use send_wrapper::SendWrapper;
use tonic::service::Routes;

use crate::faces::{Ledger, ShardState};
use proto::verifier_server::{SERVICE_NAME, VerifierServer};

/// The longest message that health and reflection take: the name of a service or a type.
const SMALL_MESSAGE_MAX: usize = 16 * 1024;

/// The gRPC services on one shard as routes, to be merged with the HTTP face's: paths never meet. Call it on the
/// shard's thread and serve it there. `serving` is shared by all shards.
///
/// # Errors
/// If the descriptors cannot be read, which only a broken build brings about.
pub fn router(state: ShardState, serving: &ServingState) -> Result<Router, tonic_reflection::server::Error> {
    let settings = state.settings();
    let drain = state.drain().clone();
    let service = Arc::new(service::Service::new(state.clone()));
    // A message's size is checked before the message is read, and each method has its own bound.
    let method = |name: &str, decode_max: usize| {
        let server = VerifierServer::from_arc(Arc::clone(&service))
            .max_decoding_message_size(decode_max)
            .max_encoding_message_size(usize::MAX);
        Router::new().route_service(&format!("/{SERVICE_NAME}/{name}"), server)
    };
    let bounded = |methods: Router, ledger: &Ledger, entries_max: Option<usize>| {
        let (ledger, body_timeout) = (SendWrapper::new(ledger.clone()), settings.body_timeout);
        let intake = intake::Intake { ledger, body_timeout, entries_max };
        methods.layer(middleware::from_fn_with_state(intake, intake::bound_body))
    };
    let single =
        method("Verify", settings.body_bytes_max).merge(method("VerifySignature", settings.signature_body_bytes_max));
    let batch = method("VerifyBatch", settings.batch_bytes_max);
    let unary = bounded(single, state.ledger(), None).merge(bounded(
        batch,
        state.bulk_ledger(),
        Some(settings.batch_items_max),
    ));
    let streaming = method("VerifyStream", settings.line_bytes_max);
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let health = serving.service(drain).max_decoding_message_size(SMALL_MESSAGE_MAX);
    let health = bounded(Routes::new(health).into_axum_router().reset_fallback(), state.ledger(), None);
    let reflection = Routes::new(reflection().build_v1()?.max_decoding_message_size(SMALL_MESSAGE_MAX))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(SMALL_MESSAGE_MAX));
    // The fallback for unknown gRPC services must not stand in the way of the HTTP face's own.
    let all = reflection.into_axum_router().reset_fallback().merge(health).merge(unary).merge(streaming);
    Ok(all.layer(middleware::map_response(intake::code_statuses)))
}
