//! `verilane.v1.Verifier` on one shard.

use std::collections::VecDeque;
use std::pin::Pin;

use futures_util::Stream;
use send_wrapper::SendWrapper;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status, Streaming};

use super::{convert, proto, stream};
use crate::faces::ShardState;
use crate::verify::{Error, Verdict};

/// The service. Bound to the shard's thread, which the wrapper enforces.
pub(super) struct Service(SendWrapper<ShardState>);

impl Service {
    pub(super) fn new(state: ShardState) -> Self {
        Self(SendWrapper::new(state))
    }
}

#[tonic::async_trait]
impl proto::verifier_server::Verifier for Service {
    async fn verify(&self, request: Request<proto::VerifyRequest>) -> Result<Response<proto::VerifyResponse>, Status> {
        let state = ShardState::clone(&self.0);
        SendWrapper::new(async move {
            let deadline = state.deadline(convert::caller_timeout(request.metadata()));
            let verdict = state.verify(convert::token(request.into_inner(), deadline)).await;
            verdict.map(|verdict| Response::new(convert::verify_response(verdict))).map_err(convert::error_status)
        })
        .await
    }

    async fn verify_batch(
        &self,
        request: Request<proto::VerifyBatchRequest>,
    ) -> Result<Response<proto::VerifyBatchResponse>, Status> {
        let state = ShardState::clone(&self.0);
        SendWrapper::new(batch(state, request)).await
    }

    type VerifyStreamStream = Pin<Box<dyn Stream<Item = Result<proto::VerifyStreamResponse, Status>> + Send>>;

    async fn verify_stream(
        &self,
        request: Request<Streaming<proto::VerifyStreamRequest>>,
    ) -> Result<Response<Self::VerifyStreamStream>, Status> {
        let call_ends = ShardState::call_ends(convert::caller_timeout(request.metadata()));
        let answers = stream::answers(ShardState::clone(&self.0), request.into_inner(), call_ends)?;
        Ok(Response::new(Box::pin(SendWrapper::new(answers))))
    }

    async fn verify_signature(
        &self,
        request: Request<proto::VerifySignatureRequest>,
    ) -> Result<Response<proto::VerifySignatureResponse>, Status> {
        let state = ShardState::clone(&self.0);
        SendWrapper::new(async move {
            let deadline = state.deadline(convert::caller_timeout(request.metadata()));
            let spec = convert::signature(request.into_inner(), deadline)?;
            let verdict = state.verify_signature(spec).await;
            verdict.map(|verdict| Response::new(convert::signature_response(verdict))).map_err(convert::error_status)
        })
        .await
    }
}

/// Checks of a batch run side by side, up to the window; answers are put in order. How many there may be was seen to
/// before the message was decoded.
async fn batch(
    state: ShardState,
    request: Request<proto::VerifyBatchRequest>,
) -> Result<Response<proto::VerifyBatchResponse>, Status> {
    let call_ends = ShardState::call_ends(convert::caller_timeout(request.metadata()));
    let requests = request.into_inner().requests;
    let window = state.settings().window.max(1);
    let mut answers = Vec::with_capacity(requests.len());
    let mut in_flight = VecDeque::with_capacity(window.min(requests.len()));
    for message in requests {
        if in_flight.len() >= window
            && let Some(oldest) = in_flight.pop_front()
        {
            answers.push(convert::answer(settle(oldest).await));
        }
        let token = convert::token(message, state.item_deadline(call_ends));
        let state = state.clone();
        in_flight.push_back(tokio::task::spawn_local(async move { state.verify_in_bulk(token).await }));
    }
    for check in in_flight {
        answers.push(convert::answer(settle(check).await));
    }
    Ok(Response::new(proto::VerifyBatchResponse { answers }))
}

async fn settle(check: JoinHandle<Result<Verdict, Error>>) -> Result<Verdict, Error> {
    // A check that panicked is our fault, and this item's only.
    check.await.unwrap_or(Err(Error::Internal))
}
