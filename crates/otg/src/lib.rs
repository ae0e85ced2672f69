//! A server of the Open Traffic Generator API (OTG) in front of netanvil's ports.
//!
//! [`router`] gives the paths of the API for an [`Engine`]. What is honoured and what is refused stands in the
//! specification that the types are generated from (`spec/`), as `x-not-served`; `docs/otg.md` has it as a table.
//!
//! ```
//! use otg::{Engine, EngineOptions};
//! use units::LineRate;
//! use wire::signature::RunKey;
//!
//! let options = EngineOptions { nominal_rate: LineRate::from_gbps(10), run_key: RunKey::from_seed(1) };
//! let engine = Engine::new(options);
//! let refused = engine.set_config(serde_json::json!({"flows": [{"name": "f"}]})).unwrap_err();
//! assert_eq!(refused.errors, ["flows[0].tx_rx: Flow needs it"]);
//! let router: axum::Router = otg::router(engine);
//! ```
//!
//! This crate is an edge of the project: it has sockets, threads and the time of day. Therefore it opts out of the ban
//! on clocks and sleeps as a whole.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod bgp;
mod device;
mod engine;
mod error;
mod file;
mod flow;
mod grpc;
pub mod model;
mod ping;
mod router;
pub mod schema;
mod serve;

pub use engine::{Engine, EngineOptions};
pub use error::Refused;
pub use file::{FileFlow, flows_of_file};
pub use router::{router, service};
pub use serve::{Ender, Server};
