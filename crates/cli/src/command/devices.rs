//! `netanvil devices`: what can be built or simulated.

use crate::failure::{Exit, Outcome};
use crate::output;

const BUILT: &str = "\
Built in network namespaces, joined to the tester by virtual links (--device):
  linux-router   the kernel's IPv4 and IPv6 forwarding, networks 198.18.0.0/15 and 2001:2::/48
                 --filter none|1|10|25  --permit last|middle  --destination-networks
                 --neighbours static|dynamic
  linux-bridge   the kernel's learning bridge
                 --filter none|1|10|25  --permit last|middle
  loopback       no device: the tester's ports back to back

  Router and bridge also take
                 --device-threads threaded|inline  --device-cpu CPU  --mtu BYTES  --tx-queue FRAMES
  and limits with a known right answer:
                 --tbf-rate RATE [--tbf-queue FRAMES --tbf-burst BYTES --tbf-port PORT]
                 --frame-limit FPS [--frame-limit-burst FRAMES]
                 --drop-every N

Hardware (--ports IF,IF):
                 --address ADDR/LEN,ADDR/LEN  --gateway ADDR,ADDR   a router
                 neither                                            a bridge or switch
";

pub fn run() -> Outcome {
    output::print(BUILT)?;
    Ok(Exit::Done)
}
