// SPDX-License-Identifier: Dual MIT/GPL
/*
 * Devices with a queue of known depth, served at a known rate: each counts the frames that would
 * have found its queue full. All see the same frames, and none forwards any, so that what they
 * count does not depend on who else needs a processor. The first half of them goes by the
 * time at which a frame comes in, the second by the time at which the tester stamped it.
 */
#include "kernel.h"

#define QUEUES 8
#define TRAILER_BYTES 16
#define TIME_BITS 48
#define PS_PER_NS 1000

struct settings {
	/* Times are counted from here. */
	u64 base_ns;
	u64 service_ps;
};

struct queue {
	/* Frames that may wait beside the one that is served. */
	u64 depth;
	/* When the last frame taken will have been served. */
	u64 free_at_ps;
	u64 taken;
	u64 refused;
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__type(value, struct queue);
} queues SEC(".maps");

/* A frame, as the queues see it. */
struct frame {
	u64 service_ps;
	u64 arrived_ps;
	u64 stamped_ps;
};

static long offer(u32 index, struct frame *frame)
{
	u64 now_ps = index < QUEUES / 2 ? frame->arrived_ps : frame->stamped_ps;
	struct queue *queue = bpf_map_lookup_elem(&queues, &index);
	u64 start_ps;

	if (!queue)
		return 1;
	start_ps = queue->free_at_ps > now_ps ? queue->free_at_ps : now_ps;
	if (start_ps - now_ps > queue->depth * frame->service_ps) {
		queue->refused++;
		return 0;
	}
	queue->free_at_ps = start_ps + frame->service_ps;
	queue->taken++;
	return 0;
}

SEC("xdp") int count(struct xdp_md *ctx)
{
	struct settings *set;
	struct frame frame;
	u64 head, now_ns, stamp_ns;
	u32 index = 0, len = ctx->data_end - ctx->data;

	set = bpf_map_lookup_elem(&settings, &index);
	if (!set || len < 60 || bpf_xdp_load_bytes(ctx, len - TRAILER_BYTES, &head, sizeof(head)))
		return XDP_DROP;
	now_ns = bpf_ktime_get_ns();
	/* The stamp has the lower bits of the same clock. */
	stamp_ns = now_ns - ((now_ns - be64(head)) & ((1ULL << TIME_BITS) - 1));
	frame.service_ps = set->service_ps;
	frame.arrived_ps = (now_ns - set->base_ns) * PS_PER_NS;
	frame.stamped_ps = (stamp_ns - set->base_ns) * PS_PER_NS;
	bpf_loop(QUEUES, offer, &frame, 0);
	return XDP_DROP;
}

char license_of_this[] SEC("license") = "Dual MIT/GPL";
