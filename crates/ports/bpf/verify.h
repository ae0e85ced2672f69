/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whether a frame's checksums are good: wire::verify, step by step. */
#pragma once
#include "signature.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_PROVIDER_VLAN 0x88a8
#define TCP 6
#define UDP 17
/* More tags than any frame bears. */
#define MAX_TAGS 16
#define CHUNK_BYTES 64
/* Chunks of the largest packet IP can state. */
#define MAX_CHUNKS (65536 / CHUNK_BYTES + 1)

struct summation {
	struct xdp_md *ctx;
	u32 at;
	u32 left;
	u64 sum;
	u32 failed;
};

static long sum_chunk(u32 chunk, struct summation *s)
{
	u64 words[CHUNK_BYTES / 8] = {};
	u32 len = s->left;

	if (!len)
		return 1;
	if (len >= CHUNK_BYTES) {
		len = CHUNK_BYTES;
		s->failed |= bpf_xdp_load_bytes(s->ctx, s->at, words, CHUNK_BYTES) != 0;
	} else {
		/* 1 to 63: that it is not 0 the verifier of Linux 6.1 has to see at the call. */
		len--;
		asm volatile("" : "+r"(len));
		len = (len & (CHUNK_BYTES - 1)) + 1;
		s->failed |= bpf_xdp_load_bytes(s->ctx, s->at, words, len) != 0;
	}
#pragma unroll
	for (int i = 0; i < CHUNK_BYTES / 8; i++)
		s->sum += words_of(words[i]);
	s->at += len;
	s->left -= len;
	return s->failed || !s->left;
}

/* The sum of the 16-bit words from `at` on, in memory's byte order, and `initial`. */
static FUNCTION u32 sums_to_ones(struct xdp_md *ctx, u32 at, u32 len, u32 initial)
{
	struct summation s = { .ctx = ctx, .at = at, .left = len, .sum = be16(fold(initial)) };

	bpf_loop(MAX_CHUNKS, sum_chunk, &s, 0);
	return !s.failed && fold(s.sum) == 0xffff;
}

/* The sum of the pseudo-header's addresses, in network byte order. */
INLINE u32 sum_addresses(const u32 *words, u32 count)
{
	u64 sum = 0;

	for (u32 i = 0; i < count; i++)
		sum += words[i];
	return be16(fold(sum));
}

/* RFC 768, RFC 8200 section 8.1; `addresses` in network byte order. */
INLINE int payload_is_good(struct xdp_md *ctx, u32 at, u32 len, u8 protocol, u32 addresses)
{
	u32 checksum_at = protocol == UDP ? 6 : 16;
	u16 checksum, length;

	if (protocol != UDP && protocol != TCP)
		return 1;
	if (len < checksum_at + 2 ||
	    bpf_xdp_load_bytes(ctx, at + checksum_at, &checksum, sizeof(checksum)))
		return 0;
	if (protocol == UDP) {
		/* What is behind the datagram is no part of it. */
		if (bpf_xdp_load_bytes(ctx, at + 4, &length, sizeof(length)))
			return 0;
		length = be16(length);
		if (length < 8 || length > len)
			return 0;
		len = length;
	}
	if (protocol == UDP && !checksum)
		return 1;
	return sums_to_ones(ctx, at, len, addresses + protocol + len);
}

static FUNCTION int ipv4_is_good(struct xdp_md *ctx, u32 at)
{
	struct {
		u8 version_ihl, tos;
		u16 total_len, id, fragment;
		u8 ttl, protocol;
		u16 checksum;
		u32 addresses[2];
	} ip;
	u32 header_len, total_len;

	if (bpf_xdp_load_bytes(ctx, at, &ip, sizeof(ip)))
		return 0;
	header_len = (ip.version_ihl & 0x0f) * 4;
	total_len = be16(ip.total_len);
	if (header_len < 20 || total_len < header_len ||
	    bpf_xdp_get_buff_len(ctx) < at + total_len)
		return 0;
	if (!sums_to_ones(ctx, at, header_len, 0))
		return 0;
	if (be16(ip.fragment) & 0x3fff)
		return 1;
	return payload_is_good(ctx, at + header_len, total_len - header_len, ip.protocol,
			       sum_addresses(ip.addresses, 2));
}

static FUNCTION int ipv6_is_good(struct xdp_md *ctx, u32 at)
{
	struct {
		u32 version_class_flow;
		u16 payload_len;
		u8 next_header, hop_limit;
		u32 addresses[8];
	} ip;
	u32 len;

	if (bpf_xdp_load_bytes(ctx, at, &ip, sizeof(ip)))
		return 0;
	len = be16(ip.payload_len);
	if (bpf_xdp_get_buff_len(ctx) < at + sizeof(ip) + len)
		return 0;
	return payload_is_good(ctx, at + sizeof(ip), len, ip.next_header,
			       sum_addresses(ip.addresses, 8));
}

INLINE int transport_is_good(struct xdp_md *ctx)
{
	u16 ethertype = 0;
	u32 at = 12;

	for (u32 tag = 0; tag <= MAX_TAGS; tag++) {
		if (bpf_xdp_load_bytes(ctx, at, &ethertype, sizeof(ethertype)))
			return 0;
		ethertype = be16(ethertype);
		if (ethertype != ETHERTYPE_VLAN && ethertype != ETHERTYPE_PROVIDER_VLAN)
			break;
		at += 4;
	}
	if (ethertype == ETHERTYPE_IPV4)
		return ipv4_is_good(ctx, at + 2);
	if (ethertype == ETHERTYPE_IPV6)
		return ipv6_is_good(ctx, at + 2);
	return 1;
}
