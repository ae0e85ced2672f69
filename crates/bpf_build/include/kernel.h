/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The little of the kernel's BPF interface that the programs here need. All of it is stable
 * (include/uapi/linux/bpf.h), and stating it here spares the build every header package.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
/* Verified once on its own instead of at each place it is called from. */
#define FUNCTION __attribute__((noinline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define be16(x) __builtin_bswap16(x)
#define be32(x) __builtin_bswap32(x)
#define be64(x) __builtin_bswap64(x)

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the signature code swaps bytes and is written for little-endian machines"
#endif

/* Definitions of maps, in the form in which loaders read them from type information. */
#define __uint(name, value) int(*name)[value]
#define __type(name, type) typeof(type) *name

enum {
	MAP_TYPE_ARRAY = 2,
	MAP_TYPE_PERCPU_HASH = 5,
	MAP_TYPE_DEVMAP = 14,
	MAP_TYPE_CPUMAP = 16,
	MAP_TYPE_RINGBUF = 27,
	MAP_FLAG_MMAPABLE = 1 << 10,
};

enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;
static void *(*bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*bpf_loop)(u32 times, void *callback, void *context, u64 flags) = (void *)181;
static u64 (*bpf_xdp_get_buff_len)(struct xdp_md *ctx) = (void *)188;
static long (*bpf_xdp_load_bytes)(struct xdp_md *ctx, u32 at, void *to, u32 len) = (void *)189;
static long (*bpf_xdp_store_bytes)(struct xdp_md *ctx, u32 at, void *from, u32 len) = (void *)190;
