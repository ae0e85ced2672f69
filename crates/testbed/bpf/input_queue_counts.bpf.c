// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Counts what goes into the input queues, what they drop, and what is taken out of them: the kernel
 * tells of a CPUMAP by tracepoints alone, one event for up to 8 frames on the way in and on the way out.
 */
#include "kernel.h"

struct counts {
	u64 come;
	u64 dropped;
	u64 taken;
	u64 dropped_after;
};

/* By the number of the CPUMAP; those of others have no entry. */
struct {
	__uint(type, MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

INLINE struct counts *counts_of(u64 map)
{
	u32 key = map;

	return bpf_map_lookup_elem(&counts, &key);
}

/* map, come to the queue, dropped of those, processor (include/trace/events/xdp.h) */
SEC("raw_tp/xdp_cpumap_enqueue") int enqueued(u64 *arguments)
{
	struct counts *of = counts_of(arguments[0]);

	if (of) {
		of->come += (u32)arguments[1];
		of->dropped += (u32)arguments[2];
	}
	return 0;
}

/* map, taken out, dropped for want of memory, ... */
SEC("raw_tp/xdp_cpumap_kthread") int taken(u64 *arguments)
{
	struct counts *of = counts_of(arguments[0]);

	if (of) {
		of->taken += (u32)arguments[1];
		of->dropped_after += (u32)arguments[2];
	}
	return 0;
}

char license_of_this[] SEC("license") = "Dual MIT/GPL";
