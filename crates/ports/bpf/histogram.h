/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The buckets of trial::Histogram: 128 to each power of two, linear below 128. */
#pragma once
#include "kernel.h"

#define PRECISION_BITS 7
#define LINEAR (1 << PRECISION_BITS)
#define MAX_VALUE_BITS 48
#define BUCKETS ((MAX_VALUE_BITS - PRECISION_BITS + 1) << PRECISION_BITS)

struct histogram {
	u64 min;
	u64 max;
	u64 sum;
	u64 count;
	u64 buckets[BUCKETS];
};

/* How far `ticks` >= 128 must be shifted to lie between 128 and 255. */
INLINE u32 octave(u64 ticks)
{
	u32 shift = 0;

	if (ticks >> 40) {
		shift = 33;
		ticks >>= 33;
	}
	if (ticks >> 24) {
		shift += 17;
		ticks >>= 17;
	}
	if (ticks >> 16) {
		shift += 9;
		ticks >>= 9;
	}
	if (ticks >> 12) {
		shift += 5;
		ticks >>= 5;
	}
	if (ticks >> 10) {
		shift += 3;
		ticks >>= 3;
	}
	if (ticks >> 9) {
		shift += 2;
		ticks >>= 2;
	}
	return shift + (ticks >> 8);
}

INLINE u32 bucket_of(u64 ticks)
{
	u32 shift;

	if (ticks < LINEAR)
		return ticks;
	if (ticks >> MAX_VALUE_BITS)
		return BUCKETS - 1;
	shift = octave(ticks);
	return ((shift + 1) << PRECISION_BITS) + ((ticks >> shift) & (LINEAR - 1));
}

/* One writer at a time: counted with plain adds. */
INLINE void record(struct histogram *histogram, u64 ticks)
{
	u32 bucket = bucket_of(ticks);

	if (!histogram->count || ticks < histogram->min)
		histogram->min = ticks;
	if (ticks > histogram->max)
		histogram->max = ticks;
	histogram->sum += ticks;
	histogram->count++;
	if (bucket < BUCKETS)
		histogram->buckets[bucket]++;
}
