//! What netanvil asks of the Linux kernel: netlink, network namespaces, interfaces, ethtool, packet
//! sockets, scheduling. It stands under real ports and real devices under test, and knows of neither.
//!
//! # Example
//!
//! A pair of veth interfaces in a network namespace that vanishes with the process; as root:
//!
//! ```no_run
//! use kernel::{Namespace, VethEnd};
//!
//! let namespace = Namespace::create_anonymous("here")?;
//! let end = |name, last| VethEnd {
//!     name,
//!     mac: [2, 0, 0, 0, 0, last],
//!     mtu_bytes: 1500,
//!     tx_queue_frames: 1000,
//!     queues: 1,
//! };
//! let mut netlink = namespace.netlink()?;
//! netlink.add_veth(&end("left", 1), &end("right", 2), None)?;
//! netlink.set_link_up("left", true)?;
//! println!("{:?}", netlink.state("left")?);
//! # Ok::<(), kernel::KernelError>(())
//! ```

mod error;
mod ethtool;
mod foreign_sockets;
mod frame_socket;
mod generic_netlink;
mod huge_pages;
mod interface;
mod layer3;
mod link;
mod namespace;
mod netlink;
mod offloads;
mod packet_socket;
mod privilege;
mod queue;
pub mod socket;
mod state;
mod sysctl;
mod tap;
pub mod thread;
mod time_of_day;

pub use error::{KernelError, Result, causes, read_file, write_file};
pub use ethtool::{Channels, Ethtool, Feature, REWRITING_FEATURES, Stamping};
pub use foreign_sockets::give_room;
pub use frame_socket::{FrameSocket, Has, Offload, receive_frame, tell_tags, wait_readable};
pub use generic_netlink::{Napi, napis};
pub use huge_pages::free_huge_bytes;
pub use interface::InterfaceFacts;
pub use layer3::Network;
pub use link::VethEnd;
pub use namespace::{Enterer, NETNS_DIRECTORY, Namespace, remove_name};
pub use netlink::{Netlink, Rtnetlink};
pub use offloads::OffloadsOff;
pub use packet_socket::PacketSocket;
pub use privilege::{Privilege, enter_user_namespace};
pub use queue::{QueueCounters, TokenBucket};
pub use state::{InterfaceCounters, InterfaceState};
pub use sysctl::{has_ipv6, set_sysctls};
pub use tap::Tap;
pub use time_of_day::{TimeOfDay, time_of_day};
