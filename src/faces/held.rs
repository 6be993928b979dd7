//! An answer that is on the shard's account until it has been sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use send_wrapper::SendWrapper;

/// A body with what is claimed for it. A client that does not read its answer keeps the claim with it.
#[derive(Debug)]
pub struct Held<B, C> {
    inner: B,
    _claim: SendWrapper<C>,
}

impl<B, C> Held<B, C> {
    /// `inner`, and what is given back when it is gone.
    pub fn new(inner: B, claim: C) -> Self {
        Self { inner, _claim: SendWrapper::new(claim) }
    }
}

impl<B: Body + Unpin, C: Unpin> Body for Held<B, C> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
