/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Copies of chosen frames for user space; src/xdp/capture.rs reads them. */
#pragma once
#include "kernel.h"

/* Frames are stored in records of two sizes; none that a port handles is longer than the second. */
#define SMALL_BYTES 240
#define LARGE_BYTES 9600

struct captured {
	u64 at_ns;
	u32 len;
	u32 stored;
};

struct small_captured {
	struct captured head;
	u8 bytes[SMALL_BYTES];
};

struct large_captured {
	struct captured head;
	u8 bytes[LARGE_BYTES];
};

struct capture_state {
	/* How many frames are wanted, set by user space, and how many were found. */
	u64 wanted;
	u64 found;
	/* How many of them found no room. */
	u64 lost;
};

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct capture_state);
} capture_state SEC(".maps");

struct {
	__uint(type, MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} captured SEC(".maps");

static FUNCTION int capture(struct xdp_md *ctx, u64 now, u32 len)
{
	struct capture_state *state;
	struct large_captured *large;
	struct small_captured *small;
	u32 zero = 0;
	long failed;

	state = bpf_map_lookup_elem(&capture_state, &zero);
	if (!state || state->found >= state->wanted || !len)
		return 0;
	if (__sync_fetch_and_add(&state->found, 1) >= state->wanted)
		return 0;
	if (len <= SMALL_BYTES) {
		small = bpf_ringbuf_reserve(&captured, sizeof(*small), 0);
		if (!small)
			goto lost;
		small->head.at_ns = now;
		small->head.len = len;
		small->head.stored = len;
		failed = bpf_xdp_load_bytes(ctx, 0, small->bytes, len);
		if (failed)
			small->head.stored = 0;
		bpf_ringbuf_submit(small, 0);
		return 0;
	}
	large = bpf_ringbuf_reserve(&captured, sizeof(*large), 0);
	if (!large)
		goto lost;
	large->head.at_ns = now;
	large->head.len = len;
	if (len > LARGE_BYTES)
		len = LARGE_BYTES;
	large->head.stored = len;
	failed = bpf_xdp_load_bytes(ctx, 0, large->bytes, len);
	if (failed)
		large->head.stored = 0;
	bpf_ringbuf_submit(large, 0);
	return 0;

lost:
	__sync_fetch_and_add(&state->lost, 1);
	return 0;
}
