// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Puts every frame that a port of the device receives into a queue, from which a kernel thread on
 * the device's own processor takes it into the network stack. */
#include "kernel.h"

/* Set before the program is loaded: whose queue. */
const volatile u32 PROCESSOR = 0;

struct {
	__uint(type, MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} queues SEC(".maps");

SEC("xdp.frags") int enqueue(struct xdp_md *ctx)
{
	return bpf_redirect_map(&queues, PROCESSOR, XDP_ABORTED);
}

char license_of_this[] SEC("license") = "Dual MIT/GPL";
