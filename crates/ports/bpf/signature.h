/* SPDX-License-Identifier: Dual MIT/GPL */
/* The test signature, as wire::signature defines it. */
#pragma once
#include "kernel.h"

enum form { FORM_NONE, FORM_FULL, FORM_SHORT, FORM_COMPACT };

#define FULL_BYTES 18
#define SHORT_BYTES 14
#define COMPACT_BYTES 6
#define TIME_BITS 48

/* Ones' complement sum of 16-bit words, given as a sum of words or of wider numbers. */
INLINE u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Ones' complement has two zeros; we keep one. */
INLINE u16 canonical(u16 sum)
{
	return sum == 0xffff ? 0 : sum;
}

/* The sum of the 16-bit words of a number, not yet folded. */
INLINE u64 words_of(u64 number)
{
	return (number & 0xffffffff) + (number >> 32);
}

/* The word that makes the sum of the form `target`. */
INLINE u16 check_for(u16 target, u64 rest)
{
	return fold((u64)target + (u16)~fold(rest));
}

struct full_trailer {
	u16 check;
	u16 stream;
	u64 sequence;
	u16 time_high;
	u32 time_low;
} __attribute__((packed));

struct short_trailer {
	u16 check;
	u16 stream;
	u32 sequence;
	u16 time_high;
	u32 time_low;
} __attribute__((packed));

struct compact_trailer {
	u16 check;
	u32 sequence;
} __attribute__((packed));
