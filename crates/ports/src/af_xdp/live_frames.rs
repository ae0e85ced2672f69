//! How long a frame may be that the kernel makes for an XDP program to send.

use super::assembler::{Assembler, Register};
use super::bpf;
use std::sync::OnceLock;

/// The longest that any kernel takes, without FCS: a page less the headroom (256 bytes), what the kernel keeps at a page's
/// end (320) and at its beginning. What it keeps at the beginning differs from version to version.
const LONGEST_BYTES: usize = 3_400;
/// What every kernel with live frames takes.
const SHORTEST_BYTES: usize = 1_514;
const RESULT: Register = 0;
const XDP_DROP: i32 = 1;

/// Bytes of frame, without FCS, that a live frame of this kernel holds (`BPF_F_TEST_XDP_LIVE_FRAMES`): asked once, by frames
/// that are dropped at once. The longest of all kernels where it cannot be asked: opening the port says why.
pub(crate) fn longest_bytes() -> usize {
    static LONGEST: OnceLock<usize> = OnceLock::new();
    *LONGEST.get_or_init(|| {
        let mut code = Assembler::default();
        code.set(RESULT, XDP_DROP);
        code.exit();
        let Ok(program) = bpf::load_program(&code.finish()) else { return LONGEST_BYTES };
        longest_taken(|bytes| bpf::run_live(&program, bytes).is_ok())
    })
}

/// The longest that is taken, if those that are shorter are, too.
fn longest_taken(takes: impl Fn(usize) -> bool) -> usize {
    if takes(LONGEST_BYTES) || !takes(SHORTEST_BYTES) {
        return LONGEST_BYTES;
    }
    let (mut taken, mut refused) = (SHORTEST_BYTES, LONGEST_BYTES);
    while refused - taken > 1 {
        let middle = taken.midpoint(refused);
        match takes(middle) {
            true => taken = middle,
            false => refused = middle,
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_frame_is_found_by_what_the_kernel_takes() {
        for limit in [1_514, 1_515, 3_250, 3_368, 3_399, 3_400, 9_000] {
            assert_eq!(longest_taken(|bytes| bytes <= limit), limit.min(LONGEST_BYTES));
        }
    }

    /// As where BPF is not allowed, or where the kernel has no live frames: the port's own error tells.
    #[test]
    fn a_kernel_that_takes_nothing_is_not_believed_to_take_short_frames() {
        assert_eq!(longest_taken(|_| false), LONGEST_BYTES);
    }
}
