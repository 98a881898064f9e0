//! The plugin in one worker thread, and the requests that pass through it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use damper_mesh::filter::{Call, Host as _, TICK_MS, Verdict, Worker, read, warnings};
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};

use crate::counters::{Stats, add, counter, set};
use crate::host::Envoy;

/// The plugin in one thread.
#[derive(Default)]
pub(crate) struct Plugin {
    worker: Option<Rc<RefCell<Worker>>>,
    stats: Stats,
}

impl Context for Plugin {}

impl Drop for Plugin {
    fn drop(&mut self) {
        // The listener goes: what was counted must not go with it.
        self.flush();
    }
}

impl RootContext for Plugin {
    fn on_configure(&mut self, _size: usize) -> bool {
        let configuration = self.get_plugin_configuration().unwrap_or_default();
        let config = match read(&configuration) {
            Ok(config) => config,
            Err(problems) => {
                for problem in &problems.0 {
                    log::error!("damper: {problem}");
                }
                add(counter("damper.configuration_errors"), 1);
                return false;
            }
        };
        let warnings = warnings(&config);
        for warning in &warnings {
            log::warn!("damper: {warning}");
        }
        let position = config.position.word();
        set(&format!("damper.{position}.configuration_warnings"), warnings.len() as u64);
        let now = Envoy.now();
        let worker = Worker::new(&config, now, now.0);
        self.stats = Stats::new(position, worker.classes());
        self.worker = Some(Rc::new(RefCell::new(worker)));
        self.set_tick_period(Duration::from_millis(TICK_MS));
        true
    }

    fn on_tick(&mut self) {
        if let Some(worker) = &self.worker
            && let Ok(mut worker) = worker.try_borrow_mut()
        {
            worker.tick(&mut Envoy);
        }
        self.flush();
    }

    fn create_http_context(&self, _id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Stream { worker: self.worker.clone(), call: Call::default() }))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

impl Plugin {
    fn flush(&mut self) {
        if let Some(worker) = &self.worker
            && let Ok(mut worker) = worker.try_borrow_mut()
        {
            self.stats.flush(&mut worker);
        }
    }
}

/// One request.
struct Stream {
    /// None: the configuration was wrong, and the request passes untouched.
    worker: Option<Rc<RefCell<Worker>>>,
    call: Call,
}

impl Stream {
    /// Does something with the worker. One that is busy, which cannot happen, is left alone: traffic
    /// goes on.
    fn with<T>(&mut self, act: impl FnOnce(&mut Worker, &mut Call) -> T) -> Option<T> {
        let mut worker = self.worker.as_ref()?.try_borrow_mut().ok()?;
        Some(act(&mut worker, &mut self.call))
    }
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _count: usize, _end: bool) -> Action {
        match self.with(|worker, call| worker.request(call, &mut Envoy)) {
            Some(Verdict::Reply(reply)) => {
                let headers = reply.headers.iter().map(|(name, value)| (*name, value.as_str()));
                self.send_http_response(
                    reply.status,
                    headers.collect(),
                    Some(reply.body.as_bytes()),
                );
                Action::Pause
            }
            Some(Verdict::Continue) | None => Action::Continue,
        }
    }

    fn on_http_response_headers(&mut self, _count: usize, _end: bool) -> Action {
        self.with(|worker, call| worker.answer(call, &mut Envoy));
        Action::Continue
    }

    fn on_log(&mut self) {
        // Envoy's books are still open here, and no longer when the stream is dropped.
        self.with(|worker, call| worker.end(call, &mut Envoy));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.with(|worker, call| worker.end(call, &mut Envoy));
    }
}
