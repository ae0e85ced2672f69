/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which frames are the tester's control side's, and no port's to count: ARP, IPv6 neighbour and
 * router discovery, IGMP and MLD queries, and replies of SNMP agents. src/control/kind.rs draws
 * the same line.
 */
#pragma once
#include "kernel.h"

#define ETHER_TYPE_AT 12
#define TAG_BYTES 4
#define CONTROL_TAGS 2
#define SNMP_PORT 161
#define IGMP 2
#define IGMP_QUERY 0x11
#define ICMPV6 58
#define MLD_QUERY 130

/* A field of the frame in host order, -1 where the frame is too short. */
INLINE int half_at(struct xdp_md *ctx, u32 at)
{
	u16 value;

	return bpf_xdp_load_bytes(ctx, at, &value, sizeof(value)) ? -1 : be16(value);
}

INLINE int byte_at(struct xdp_md *ctx, u32 at)
{
	u8 value;

	return bpf_xdp_load_bytes(ctx, at, &value, sizeof(value)) ? -1 : value;
}

/* `tags`: bytes of VLAN tags before the EtherType. */
static FUNCTION int is_control(struct xdp_md *ctx)
{
	u32 tags = 0;
	int type = half_at(ctx, ETHER_TYPE_AT);
	int kind;

	for (u32 i = 0; i < CONTROL_TAGS && (type == 0x8100 || type == 0x88a8); i++) {
		tags += TAG_BYTES;
		type = half_at(ctx, ETHER_TYPE_AT + tags);
	}
	if (type == 0x0806)
		return 1;
	if (type == 0x0800 && byte_at(ctx, 23 + tags) == IGMP) {
		int first = byte_at(ctx, 14 + tags);

		/* Without options, or with the router alert alone. */
		return (first == 0x45 && byte_at(ctx, 34 + tags) == IGMP_QUERY) ||
		       (first == 0x46 && byte_at(ctx, 38 + tags) == IGMP_QUERY);
	}
	if (type == 0x0800)
		return byte_at(ctx, 14 + tags) == 0x45 && byte_at(ctx, 23 + tags) == 17 &&
		       half_at(ctx, 34 + tags) == SNMP_PORT;
	if (type != 0x86dd)
		return 0;
	switch (byte_at(ctx, 20 + tags)) {
	case 0: /* the shortest hop-by-hop header, and MLD behind it */
		return byte_at(ctx, 54 + tags) == ICMPV6 && byte_at(ctx, 55 + tags) == 0 &&
		       byte_at(ctx, 62 + tags) == MLD_QUERY;
	case ICMPV6:
		kind = byte_at(ctx, 54 + tags);
		return kind >= 133 && kind <= 137;
	case 17:
		return half_at(ctx, 54 + tags) == SNMP_PORT;
	default:
		return 0;
	}
}
