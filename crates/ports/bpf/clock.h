/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The tester's clock where it is not the kernel's: ports that are lent to another host count in that
 * host's time. src/clock/mapping.rs is the same function.
 */
#pragma once
#include "kernel.h"

/* Set before the program is loaded: whether the clocks differ. */
const volatile u32 MAPS_CLOCK = 0;

struct clock_mapping {
	u64 since_ns;
	/* Added, modulo 2^64. */
	u64 offset_ns;
	/* So much more a nanosecond since then, times 2^32. */
	s64 rate;
};

INLINE u64 mapped(const struct clock_mapping *clock, u64 now)
{
	s64 since = now - clock->since_ns;

	return now + clock->offset_ns + (u64)(since * clock->rate >> 32);
}
