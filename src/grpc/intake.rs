//! What a unary call may send: bytes are put on the shard's account as they arrive, until the call is answered.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use send_wrapper::SendWrapper;
use std::cell::RefCell;
use std::rc::Rc;
use tonic::Status;

use super::convert;
use crate::faces::{Claim, Ledger};
use crate::verify::Error;

/// Middleware for unary methods.
pub(super) async fn count_body(State(ledger): State<SendWrapper<Ledger>>, request: Request, next: Next) -> Response {
    let claim = SendWrapper::new(Rc::new(RefCell::new(ledger.open())));
    let counted = SendWrapper::clone(&claim);
    let response = next.run(request.map(|inner| Body::new(CountedBody { inner, claim: counted }))).await;
    // The message lives until the handler is done with it, which is now.
    drop(claim);
    response
}

struct CountedBody {
    inner: Body,
    claim: SendWrapper<Rc<RefCell<Claim>>>,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let frame = match std::task::ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => return Poll::Ready(None),
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if self.claim.borrow_mut().grow(bytes) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let status: Status = convert::error_status(Error::Overloaded);
        Poll::Ready(Some(Err(status.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
