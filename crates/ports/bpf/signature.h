/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The test signature, as wire::signature defines it. */
#pragma once
#include "kernel.h"

enum form { FORM_NONE, FORM_FULL, FORM_SHORT, FORM_COMPACT };

#define FULL_BYTES 18
#define SHORT_BYTES 14
#define COMPACT_BYTES 6
/* Where a trailer's parts begin; the head is stream and transmit time, the short form's with the tag. */
#define CHECK_AT 0
#define HEAD_AT 2
#define SEQUENCE_AT 10
#define TAG_AT 14
#define COMPACT_SEQUENCE_AT 2
#define SEQUENCE_BITS 32
#define FULL_TIME_BITS 48
#define SHORT_TIME_BITS 44
/* Where the stream begins in the eight bytes behind the check, in bits from the lowest. */
#define FULL_STREAM_AT 48
#define SHORT_STREAM_AT 52

/* A number at any address. A packed struct would have clang go byte by byte. */
#define NUMBER_AT(type, base, at) (*(type *)((void *)(base) + (at)))

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

INLINE u64 rotate(u64 word, const u32 by)
{
	return word << by | word >> (64 - by);
}

#define SIP_ROUND                         \
	do {                              \
		a += b;                   \
		b = rotate(b, 13) ^ a;    \
		a = rotate(a, 32);        \
		c += d;                   \
		d = rotate(d, 16) ^ c;    \
		a += d;                   \
		d = rotate(d, 21) ^ a;    \
		c += b;                   \
		b = rotate(b, 17) ^ c;    \
		c = rotate(c, 32);        \
	} while (0)

/*
 * SipHash-1-3 of 15 bytes: wire::run_key::Key::tag. `hash` is the state after initialisation with the
 * run's key, `head` stream and transmit time as the form has them, without a tag; `block` is the
 * form's of `tag_blocks` with the sequence number.
 */
INLINE u64 tag_of(const u64 *hash, u64 head, u64 block)
{
	u64 a = hash[0], b = hash[1], c = hash[2], d = hash[3];

	d ^= head;
	SIP_ROUND;
	a ^= head;
	d ^= block;
	SIP_ROUND;
	a ^= block;
	c ^= 0xff;
	SIP_ROUND;
	SIP_ROUND;
	SIP_ROUND;
	return a ^ b ^ c ^ d;
}
