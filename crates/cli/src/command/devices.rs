//! `netanvil devices`: what can be built or simulated.

use crate::failure::{Exit, Outcome};
use crate::{output, simulated};

const BUILT: &str = "\
Built in network namespaces, joined to the tester by virtual links (--device):
  linux-router   the kernel's IPv4 and IPv6 forwarding, networks 198.18.0.0/15 and 2001:2::/48
                 --filter none|1|10|25  --permit last|middle  --destinations one|random
                 --neighbours static|dynamic
  linux-bridge   the kernel's learning bridge
                 --filter none|1|10|25  --permit last|middle
  loopback       no device: the tester's ports back to back

  Router and bridge also take
                 --device-threads threaded|inline  --device-cpu CPU
                 --mtu BYTES  --input-queue FRAMES  --tx-queue FRAMES
  and limits with a known right answer:
                 --tbf-rate RATE [--tbf-queue FRAMES --tbf-burst BYTES --tbf-port PORT]
                 --frame-limit FPS [--frame-limit-burst FRAMES]
                 --drop-every N

Hardware (--ports IF,IF):
                 --address ADDR/LEN,ADDR/LEN  --gateway ADDR,ADDR   a router
                 neither                                            a bridge or switch
";

const SIMULATED: &str = "Simulated, in virtual time (--sim NAME):\n";

const SIMULATED_FILE: &str = "\
  FILE.toml      any of these keys:
                 line-rate  propagation  frames-per-second  rate  queue-frames  delay  shared
                 drop-every  duplicate-every  reorder-every  reorder-by  corrupt-every  loss  seed
                 restart  link-recovery  tester-frames-per-second
";

pub fn run() -> Outcome {
    let simulated: String = simulated::BUILT_IN
        .iter()
        .map(|(name, what, _)| format!("  {name:13}  {what}\n"))
        .collect();
    output::print(&format!("{BUILT}\n{SIMULATED}{simulated}{SIMULATED_FILE}"))?;
    Ok(Exit::Done)
}
