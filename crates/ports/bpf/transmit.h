/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the transmit program shares with user space; src/xdp/layout.rs states the same. */
#pragma once
#include "clock.h"
#include "histogram.h"
#include "signature.h"

/* A time, or a span of it: whole nanoseconds and the picoseconds below them. */
struct time {
	u64 ns;
	u64 ps;
};

/* Frames at one pace. Their spacing, or that of bytes on the medium where there is a `mean_bytes`, is
 * `spacing` and `part`/`parts` of a picosecond. */
struct segment {
	u64 frames;
	struct time start;
	struct time spacing;
	u64 part;
	u64 parts;
	/* Frames in a burst; 0 for a constant load. */
	u64 burst_frames;
	struct time burst_period;
	/* Of a frame of mean length; 0 where frames are evenly spaced. */
	u64 mean_bytes;
};

/* An extra stream that takes a departure now and then. */
struct insertion {
	u64 stream;
	/* Whether `every_frames` says when; otherwise `every` does. */
	u64 by_frames;
	u64 next_frame;
	u64 every_frames;
	struct time next;
	struct time every;
};

struct transmit_stream {
	/* Frames sent. */
	u64 sequence;
	u32 slot;
	u32 first_slot;
	u32 period;
	u16 id;
	u16 is_captured;
};

/* A ready frame. */
struct slot {
	u32 len;
	u32 form;
	u8 bytes[SLOT_BYTES];
};

struct transmit_state {
	/* Written by user space. */
	u64 start_ns;
	u64 stop_at_ns;
	u64 late_after_ps;
	/* The most lateness that is made up for: trial::Slips. */
	u64 credit_ns;
	/* What the words of each form must sum up to, by `enum form`. */
	u16 targets[4];
	/* For tag_of(): the run's key, and by form the second block without a sequence number. */
	u64 hash[4];
	u64 tag_blocks[4];
	u32 order_len;
	u32 segments;
	u32 insertions;
	u32 stop;
	struct clock_mapping clock;
	/* Written by the program; `finished` is one of `enum finished`. */
	u32 finished;
	u32 order_at;
	/* Sent by this queue; passed over, since other queues send them. */
	u64 frame;
	u64 skipped;
	/* Of several queues: no frame of the port from this one on. */
	u64 end;
	/* The stream of the frame at hand, where it had to be looked for; and whether there is one. */
	u32 chosen;
	u32 chosen_is_inserted;
	u64 is_chosen;
	u64 bytes;
	u64 late_frames;
	u64 first_ns;
	u64 last_ns;
	/* From the last frame to the next, however late that is. */
	u64 least_gap_ns;
	/* By how much the schedule has moved, and how often. */
	u64 slipped_ns;
	u64 slips;
	/* The frame due next, from the schedule's start. */
	struct time due;
	u64 segment;
	u64 segment_left;
	u64 carried;
	u64 burst_left;
	struct time burst_start;
	struct histogram lateness;
};

enum finished { RUNNING, ALL_SENT, STOPPED, NO_DEVICE, BROKEN };
