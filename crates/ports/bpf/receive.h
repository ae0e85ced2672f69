/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the receive program shares with user space; src/xdp/layout.rs states the same. */
#pragma once
#include "clock.h"
#include "histogram.h"
#include "signature.h"

/* Seconds that the program counts before user space must have fetched them. */
#define SECONDS 64
/* Jumps in the sequence that are kept to find a reordered frame's extent. */
#define JUMPS 4096
/* A port sends by at most so many queues. */
#define SEND_QUEUES 16
/* Bits of a line of the cache. */
#define LINE_BITS 512
/* So many trials back a frame of an earlier trial is known as such. */
#define EARLIER_TRIALS 4

struct receive_control {
	u64 start_ns;
	u64 deadline_ns;
	/* What the words of each form must sum up to, by `enum form`. */
	u16 targets[4];
	/* The same of the compact form in earlier trials, the trial before first. */
	u16 compact_targets[EARLIER_TRIALS];
	/* For tag_of(): the run's key, and by form the second block without a sequence number. */
	u64 hash[4];
	u64 tag_blocks[4];
	/* How many earlier trials there are to be known, up to EARLIER_TRIALS. */
	u64 earlier;
	/* Where the trial's entries begin in maps whose indices user space does not give, and how many
	 * stream numbers there are. */
	u32 queues_first;
	u32 fingerprints_first;
	u32 numbers_first;
	u32 numbers;
	/* By so much clocks behind stamps and arrival times may disagree. */
	u64 slack_ns;
	struct clock_mapping clock;
};

/* What is known of a stream beforehand. */
struct expected {
	u64 frames_max;
	/* 1 + index of its account on the first queue; 0 if it does not belong here. */
	u64 account;
	/* Index of its stray entry on the first queue, if it does not. */
	u64 stray;
	/* Index of its first word in `seen`. */
	u64 seen_first;
	/* Its lengths in `lengths`; a count of 0 where none is expected. */
	u32 lengths_first;
	u32 lengths_count;
	u64 tag_first;
	u64 tag_every;
	u64 tag_count;
	/* Index of its first entry in `tagged`. */
	u64 tagged_first;
	/* trial::ByQueues; `send_queues` is 0 where one queue sends it all. */
	u64 send_queues;
	/* Bits of frames that leave by different queues are apart in `seen`, by lines of so many queues (a power of
	 * two, of which this is the logarithm): each is written by the processor of its own. */
	u64 queues_log2;
	u64 first_slot;
	u64 period;
};

struct fingerprint {
	u32 offset;
	u32 value;
	u32 mask;
	u32 unused;
};

struct jump {
	u64 arrival;
	u64 sequence;
};

/* The account of one stream on one receive queue: trial::StreamAccount and its workings. */
struct account {
	u64 unique;
	u64 unique_bytes;
	u64 duplicates;
	u64 late;
	u64 corrupted;
	u64 wrong_length;
	u64 reordered;
	u64 extent_max;
	u64 arrivals_in_time;
	u64 first_ns;
	u64 last_ns;
	u64 silence_from_ns;
	u64 silence_to_ns;
	u64 next_expected;
	/* Number and latency of the unique frame before; valid if `latencies.count` is not 0. */
	u64 previous_sequence;
	u64 previous_ticks;
	u64 variations;
	u64 variation_sum;
	s64 variation_min;
	s64 variation_max;
	/* Place of `length_sequence` in the stream's lengths. */
	u64 length_sequence;
	u64 length_at;
	/* Last tagged frame, and how many tagged frames arrived. */
	u64 tag_last;
	u64 tagged;
	/* The second that is being counted, when it ends, and the counts, by second modulo SECONDS. */
	u64 second;
	u64 second_end_ns;
	u64 seconds[SECONDS];
	/* One more than the highest number of those that each queue sends, where several do. */
	u64 next_of_queue[SEND_QUEUES];
	u64 jumps_made;
	struct jump jumps[JUMPS];
	struct histogram latencies;
	struct histogram gaps;
};

/* What arrived of a stream that does not belong here, on one receive queue. */
struct stray {
	/* In time, repeats among them. */
	u64 arrivals;
	u64 bytes;
	u64 late;
	u64 corrupted;
	u64 first_ns;
	u64 last_ns;
	u64 next_expected;
};

struct tagged {
	u64 index;
	u64 ticks;
};

/* What arrived on one receive queue, whatever it was. */
struct queue_account {
	u64 arrivals;
	u64 foreign;
	u64 foreign_bytes;
	u64 corrupted;
	u64 forged;
	/* Of the trial before, of the one before that, and so on. */
	u64 leftovers[EARLIER_TRIALS];
	u64 leftover_last_ns;
};
