//! gRPC health: serving until the drain begins. Watches end with the drain, so that they do not hold it up.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_health::server::{HealthReporter, HealthService};

use super::proto::verifier_server::SERVICE_NAME;
use crate::faces::Drain;

/// What health answers, for the whole process.
#[derive(Clone, Debug)]
pub struct ServingState(HealthReporter);

impl ServingState {
    /// Not serving yet.
    pub async fn starting() -> Self {
        let state = Self(HealthReporter::new());
        state.set(ServingStatus::NotServing).await;
        state
    }

    /// Ready.
    pub async fn serving(&self) {
        self.set(ServingStatus::Serving).await;
    }

    /// Draining: clients should go elsewhere. Call it before the drain signal.
    pub async fn not_serving(&self) {
        self.set(ServingStatus::NotServing).await;
    }

    async fn set(&self, status: ServingStatus) {
        for service in ["", SERVICE_NAME] {
            self.0.set_service_status(service, status).await;
        }
    }

    pub(super) fn service(&self, drain: Drain) -> HealthServer<impl Health> {
        HealthServer::new(Draining { inner: HealthService::from_health_reporter(self.0.clone()), drain })
    }
}

struct Draining {
    inner: HealthService,
    drain: Drain,
}

#[tonic::async_trait]
impl Health for Draining {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        self.inner.check(request).await
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let drained = Box::pin(self.drain.clone().started());
        let watch = self.inner.watch(request).await?;
        Ok(watch.map(|stream| Box::pin(stream.take_until(drained)) as Self::WatchStream))
    }
}
