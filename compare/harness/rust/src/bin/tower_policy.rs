//! rs-tower-retry: the policy's own type counts what is left.
//! unknowable: what the type of the policy decides is code
use std::future::{Ready, ready};
use std::io::Error;

use tower::retry::{Policy, RetryLayer};
use tower::{ServiceBuilder, ServiceExt as _, service_fn};

#[derive(Clone)]
struct Attempts(usize);

impl Policy<&'static str, String, Error> for Attempts {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut &'static str,
        result: &mut Result<String, Error>,
    ) -> Option<Self::Future> {
        if result.is_ok() || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, path: &&'static str) -> Option<&'static str> {
        Some(path)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(Attempts(3)))
        .service(service_fn(|path: &'static str| async move { harness::fetch(path) }));
    assert!(service.oneshot("/503").await.is_ok());
}
