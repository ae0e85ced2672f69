//! NETBLT (RFC 998) for programs: send, fetch and serve files and bytes.
//!
//! Transfers are futures, and run on any executor: each has a thread of its own, which turns its socket, reads and
//! writes, and wakes whoever awaits it. Nothing here blocks the executor, and no runtime is needed;
//! [`Transfer::wait`] is for programs without one.
//!
//! * [`Client`]: sends and fetches. * [`Transfer`]: one of these under way. * [`Handle`]: watches and steers it.
//! * [`Server`]: serves a folder. * [`Options`] and [`ServerOptions`]: what they are like. The defaults are safe: without
//!   a key a server listens on 127.0.0.1 alone, and whoever opens a connection proves its address by a cookie.
//! * [`Error`]: what went wrong, and what mends it.
//!
//! A file is whole, or it is not there: it gets its name once its digest (BLAKE3) is that of the sender and it is on the
//! disk. A transfer that broke off goes on where it broke when it is asked for again.
//!
//! # Both ends
//!
//! ```
//! use netblt_client::{Client, Options, Server, ServerOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("served"))?;
//! # pollster::block_on(async {
//! let options = ServerOptions { listen: Some("127.0.0.1:0".parse()?), ..Default::default() };
//! let server = Server::start(folder.path().join("served"), &options)?;
//!
//! let client = Client::new(&server.address().to_string(), Options::default());
//! let sent = client.send_bytes(b"Dear receiver".as_slice(), "letter").await?;
//! let fetched = client.fetch_bytes("letter", 1 << 20).await?;
//! assert_eq!(fetched.bytes, b"Dear receiver");
//! assert_eq!(fetched.outcome.digest(), sent.digest());
//!
//! server.shutdown().await?;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Progress, a bound on the rate, and a key
//!
//! ```
//! use futures_util::StreamExt;
//! use netblt_client::{Client, Key, Options, Rate, Server, ServerOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("served"))?;
//! # std::fs::write(folder.path().join("disk.img"), vec![7; 3_000_000])?;
//! # pollster::block_on(async {
//! // The same at both ends: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
//! let (key, _digits) = Key::draw().ok_or("no randomness")?;
//! # let options = ServerOptions { listen: Some("127.0.0.1:0".parse()?), seal: Some(key.clone().into()), ..Default::default() };
//! # let server = Server::start(folder.path().join("served"), &options)?;
//! # let host = server.address().to_string();
//!
//! let rate = Rate::Scavenging { at_most_bps: None };
//! let client = Client::new(&host, Options { seal: Some(key.into()), rate, ..Default::default() });
//! let transfer = client.send_file(folder.path().join("disk.img"), "disk.img");
//! let handle = transfer.handle();
//! handle.cap_rate(Some(100e6));
//! let watch = handle.progress_stream().for_each(|progress| {
//!     if progress.done_bytes > progress.total_bytes / 2 {
//!         handle.cap_rate(None);
//!     }
//!     std::future::ready(())
//! });
//! let (outcome, ()) = futures_util::future::join(transfer, watch).await;
//! assert_eq!(outcome?.payload_bytes(), 3_000_000);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Errors
//!
//! ```
//! use netblt_client::{Client, Error, Options, Server, ServerOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let open = ServerOptions { listen: Some("0.0.0.0:0".parse()?), ..Default::default() };
//! let refused = Server::start(folder.path(), &open).expect_err("no key");
//! assert!(matches!(refused, Error::NotTrusted { .. }));
//! assert!(refused.remedy().contains("give a key"));
//!
//! let client = Client::new("127.0.0.1", Options::default());
//! match client.send_file(folder.path().join("nothing"), "nothing").wait() {
//!     Err(Error::CannotRead { path, .. }) => assert!(path.ends_with("nothing")),
//!     other => panic!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What may be changed
//!
//! Of several threads and executors: a [`Handle`] is for all, a [`Transfer`] for whoever awaits it. Who drops one cancels
//! it; the other end hears of that as long as the process lives for another moment. [`Handle::cancel`], and then awaiting
//! the transfer, says when it has.
//!
//! [`follow`] and [`serving`] are the parts that turn in the thread that calls, for programs with a loop of their own.
// An edge of the project: threads, sockets and the time for which somebody waits are real here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod address;
mod client;
mod error;
pub mod follow;
mod options;
mod outcome;
mod server;
pub mod serving;
mod transfer;

pub use client::{Client, Fetched, place};
pub use error::Error;
pub use netblt::{Burst, Counters};
pub use netblt_io::{Carrier, Code, Key, LatenessSummary, Progress, Refusal};
pub use options::{FASTEST, Options, Proposal, Rate, SERVICE_PORT, Seal, UDP_PORT, burst_of_rate};
pub use outcome::Outcome;
pub use server::{Server, Transfers};
pub use serving::ServerOptions;
pub use transfer::{Handle, ProgressStream, Transfer};
