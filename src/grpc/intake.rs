//! What a unary call may send, and how long it may take: header fields, and bytes as they arrive, are on the shard's
//! account until the answer is sent, and a message that does not come in time ends the call. HTTP requests have the
//! same bounds.

use std::cell::RefCell;
use std::future::Future as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use send_wrapper::SendWrapper;
use tokio::time::Sleep;
use tonic::{Code, Status};

use super::convert;
use super::items::EntryCount;
use crate::api::RequestFault;
use crate::faces::{Claim, FIELD_BYTES, Held, Ledger, batch_bytes};
use crate::verify::Error;

/// The bounds on what unary calls of one shard send.
#[derive(Clone)]
pub(super) struct Intake {
    /// The account of the shard.
    pub(super) ledger: SendWrapper<Ledger>,
    /// How long a whole message may take to come.
    pub(super) body_timeout: Duration,
    /// Entries of a message that is a batch.
    pub(super) entries_max: Option<usize>,
}

/// Middleware for unary methods.
pub(super) async fn bound_body(State(intake): State<Intake>, request: Request, next: Next) -> Response {
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES).sum();
    let Some(claim) = intake.ledger.claim(fields) else { return convert::error_status(Error::Overloaded).into_http() };
    let claim = SendWrapper::new(Rc::new(RefCell::new(claim)));
    let counted = SendWrapper::clone(&claim);
    let late = Box::pin(tokio::time::sleep(intake.body_timeout));
    let entries = intake.entries_max.map(EntryCount::new);
    let body = |inner| Body::new(BoundBody { inner, claim: counted, entries, late });
    let response = next.run(request.map(body)).await;
    response.map(|body| Body::new(Held::new(body, claim)))
}

/// Middleware for every method: a status that the library made up by itself, before a method ran, gets a code.
pub(super) async fn code_statuses(response: Response) -> Response {
    if response.headers().contains_key(convert::CODE) {
        return response;
    }
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() != Code::Ok => convert::coded(status).into_http(),
        _ => response,
    }
}

/// The answer to a batch above a bound.
fn too_large(detail: &str) -> Status {
    convert::fault_status(RequestFault::TooLarge, detail)
}

struct BoundBody {
    inner: Body,
    claim: SendWrapper<Rc<RefCell<Claim>>>,
    entries: Option<EntryCount>,
    late: Pin<Box<Sleep>>,
}

impl BoundBody {
    /// Whether these bytes may come in.
    fn admit(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let mut begun = 0;
        if let Some(entries) = &mut self.entries {
            let before = entries.left();
            if !entries.read(bytes) {
                let max = entries.max();
                let detail = format!("The batch has more than {max} items; use VerifyStream for larger ones.");
                return Err(too_large(&detail));
            }
            begun = before - entries.left();
        }
        let fits = self.claim.borrow_mut().grow(batch_bytes(bytes.len(), begun));
        if fits { Ok(()) } else { Err(convert::error_status(Error::Overloaded)) }
    }
}

impl HttpBody for BoundBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                std::task::ready!(self.late.as_mut().poll(cx));
                let status = convert::fault_status(RequestFault::TimedOut, "The message was not sent in time.");
                return Poll::Ready(Some(Err(status.into())));
            }
        };
        let admitted = frame.data_ref().map_or(Ok(()), |bytes| self.admit(bytes));
        Poll::Ready(Some(admitted.map(|()| frame).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
