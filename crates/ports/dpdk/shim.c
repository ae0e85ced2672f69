/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * DPDK behind a small interface of plain structures, for netanvil's `dpdk` port. DPDK's own interface
 * is half inline functions and its structures change from release to release: this file is compiled
 * against the headers of the release that it is linked with, and src/dpdk/shim.rs mirrors what is
 * declared here.
 *
 * As many receive as transmit queues a port. The caller sees to it that one thread at a time uses a
 * queue. Threads that call nv_rx, nv_alloc, nv_tx or nv_free often call nv_thread_join first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_version.h>

#define NV_ABI 3
#define NV_QUEUES 16
#define NV_BURST 64
#define NV_EXPORT __attribute__((visibility("default")))

/* What a port should be like. */
struct nv_wish {
	/* Of each queue. */
	uint32_t buffers;
	uint32_t buffer_bytes;
	uint32_t mtu_bytes;
	uint16_t rx_descriptors;
	uint16_t tx_descriptors;
	/* Of each direction, at most NV_QUEUES. */
	uint16_t queues;
	uint16_t pad;
};

/* What a port is like. */
struct nv_device {
	uint16_t port;
	uint16_t rx_descriptors;
	uint16_t tx_descriptors;
	uint8_t promiscuous;
	uint8_t mac[6];
	uint8_t pad;
	/* Of each direction, at most. */
	uint16_t queues_max;
	uint32_t mtu_bytes;
	int32_t numa_node;
	char driver[64];
	/* What was being done when it failed. */
	char step[64];
};

struct nv_link {
	uint32_t speed_mbps;
	uint32_t up;
};

struct nv_stats {
	uint64_t ipackets, opackets, ibytes, obytes;
	uint64_t imissed, ierrors, oerrors, rx_nombuf;
};

struct nv_xstat {
	char name[64];
	uint64_t value;
};

/* A frame in a buffer: its first byte, and its length without FCS. `kept` is what the caller wrote there when the
 * buffer was last sent, 0 where it never was: the bytes of the frame may still be in it. */
struct nv_frame {
	void *buffer;
	uint8_t *data;
	uint64_t kept;
	uint32_t len;
	uint32_t pad;
};

_Static_assert(sizeof(struct nv_wish) == 20, "mirrored");
_Static_assert(sizeof(struct nv_device) == 152, "mirrored");
_Static_assert(sizeof(struct nv_link) == 8, "mirrored");
_Static_assert(sizeof(struct nv_stats) == 64, "mirrored");
_Static_assert(sizeof(struct nv_xstat) == 72, "mirrored");
_Static_assert(sizeof(struct nv_frame) == 32, "mirrored");
_Static_assert(RTE_ETH_XSTATS_NAME_SIZE == 64, "names of counters fit");

/* Of each queue. Received frames go into buffers of the one, frames are sent out of those of the other: what is in a
 * buffer that comes back from being sent is what was sent, by that queue. */
static struct rte_mempool *receive_pools[RTE_MAX_ETHPORTS][NV_QUEUES];
static struct rte_mempool *send_pools[RTE_MAX_ETHPORTS][NV_QUEUES];
/* Frames that came in more pieces than fit into one buffer, by port. */
static uint64_t oversize[RTE_MAX_ETHPORTS];

/* The last of what DPDK says, for error messages. */
static char said[4096];
static size_t said_bytes;
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static ssize_t hear(void *cookie, const char *text, size_t bytes)
{
	size_t all = bytes;

	(void)cookie;
	pthread_mutex_lock(&said_lock);
	if (bytes > sizeof(said)) {
		text += bytes - sizeof(said);
		bytes = sizeof(said);
	}
	if (said_bytes + bytes > sizeof(said)) {
		size_t over = said_bytes + bytes - sizeof(said);

		memmove(said, said + over, said_bytes - over);
		said_bytes -= over;
	}
	memcpy(said + said_bytes, text, bytes);
	said_bytes += bytes;
	pthread_mutex_unlock(&said_lock);
	return (ssize_t)all;
}

/* What DPDK has said since it was asked last; gives the number of bytes. */
NV_EXPORT uint32_t nv_said(char *out, uint32_t room)
{
	uint32_t bytes;

	pthread_mutex_lock(&said_lock);
	bytes = said_bytes < room ? (uint32_t)said_bytes : room;
	memcpy(out, said + said_bytes - bytes, bytes);
	said_bytes = 0;
	pthread_mutex_unlock(&said_lock);
	return bytes;
}

NV_EXPORT uint32_t nv_abi(void)
{
	return NV_ABI;
}

NV_EXPORT const char *nv_version(void)
{
	return rte_version();
}

/* Starts the EAL with these arguments, the program's name first; 0 or a negative errno. */
NV_EXPORT int32_t nv_start(int32_t argc, char **argv)
{
	cookie_io_functions_t ears = {.write = hear};
	FILE *stream = fopencookie(NULL, "w", ears);

	if (!stream)
		return -errno;
	setvbuf(stream, NULL, _IOLBF, 0);
	rte_openlog_stream(stream);
	if (rte_eal_init(argc, argv) < 0)
		return rte_errno ? -rte_errno : -EINVAL;
	return 0;
}

/* The calling thread becomes known to DPDK, which gives it caches of its own; 0 or a negative errno. */
NV_EXPORT int32_t nv_thread_join(void)
{
	return rte_thread_register() < 0 ? -rte_errno : 0;
}

NV_EXPORT void nv_thread_leave(void)
{
	rte_thread_unregister();
}

/* The port of a device that is attached. A PCI device may have several: the first. */
static int find(const char *devargs, uint16_t *port)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	size_t bytes = strcspn(devargs, ",");

	if (bytes >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, devargs, bytes);
	name[bytes] = 0;
	return rte_eth_dev_get_port_by_name(name, port);
}

#define STEP(text) snprintf(out->step, sizeof(out->step), "%s", text)

/* A buffer has nv_frame's `kept` in the place of a hash, which is of received frames: DPDK leaves it alone when it
 * gives buffers out and takes them back, and drivers read it of no frame that they send. It lies beside what is written
 * for each frame anyway. */
static uint64_t kept_of(const struct rte_mbuf *buffer)
{
	return (uint64_t)buffer->hash.fdir.hi << 32 | buffer->hash.fdir.lo;
}

static void keep(struct rte_mbuf *buffer, uint64_t kept)
{
	buffer->hash.fdir.lo = (uint32_t)kept;
	buffer->hash.fdir.hi = (uint32_t)(kept >> 32);
}

/* Buffers are zero when their pool is made, and with them what is kept. */
static struct rte_mempool *make_pool(const char *what, uint16_t port, uint16_t queue,
				     const struct nv_wish *wish, int node)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "nv-%s-%u-%u", what, port, queue);
	return rte_pktmbuf_pool_create(name, wish->buffers, RTE_MIN(256, RTE_MEMPOOL_CACHE_MAX_SIZE), 0,
				       (uint16_t)wish->buffer_bytes, node < 0 ? SOCKET_ID_ANY : node);
}

/* All pools of a port; 0 or a negative errno. */
static int make_pools(uint16_t port, const struct nv_wish *wish, int node)
{
	for (uint16_t queue = 0; queue < wish->queues; queue++) {
		receive_pools[port][queue] = make_pool("receive", port, queue, wish, node);
		if (!receive_pools[port][queue])
			return -rte_errno;
		send_pools[port][queue] = make_pool("send", port, queue, wish, node);
		if (!send_pools[port][queue])
			return -rte_errno;
	}
	return 0;
}

static void free_pools(uint16_t port)
{
	for (uint16_t queue = 0; queue < NV_QUEUES; queue++) {
		rte_mempool_free(receive_pools[port][queue]);
		rte_mempool_free(send_pools[port][queue]);
		receive_pools[port][queue] = send_pools[port][queue] = NULL;
	}
}

/* Arrivals are spread over the queues by addresses and ports, as far as the device can. */
static void spread(const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	uint64_t can = info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);

	if (!can)
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = can;
}

/* Descriptors and buffers of each queue. */
static int set_up_queues(uint16_t port, const struct nv_wish *wish, struct nv_device *out, int node)
{
	int failed;

	for (uint16_t queue = 0; queue < wish->queues; queue++) {
		STEP("set up the receive queue");
		failed = rte_eth_rx_queue_setup(port, queue, out->rx_descriptors, node, NULL,
						receive_pools[port][queue]);
		if (failed)
			return failed;
		STEP("set up the transmit queue");
		failed = rte_eth_tx_queue_setup(port, queue, out->tx_descriptors, node, NULL);
		if (failed)
			return failed;
	}
	return 0;
}

/* Queues each way, with the caller's buffers. */
static int set_up(uint16_t port, const struct nv_wish *wish, struct nv_device *out)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	struct rte_ether_addr mac;
	int failed, node = rte_eth_dev_socket_id(port);

	STEP("read what the device can do");
	failed = rte_eth_dev_info_get(port, &info);
	if (failed)
		return failed;
	snprintf(out->driver, sizeof(out->driver), "%s", info.driver_name ? info.driver_name : "");
	out->numa_node = node;
	out->queues_max = RTE_MIN(RTE_MIN(info.max_rx_queues, info.max_tx_queues), NV_QUEUES);
	STEP("count its queues");
	if (wish->queues == 0 || wish->queues > out->queues_max)
		return -E2BIG;
	STEP("reserve memory for frames");
	failed = make_pools(port, wish, node);
	if (failed)
		return failed;
	memset(&conf, 0, sizeof(conf));
	out->mtu_bytes = wish->mtu_bytes;
	if (out->mtu_bytes > info.max_mtu)
		out->mtu_bytes = info.max_mtu;
	/* Some drivers state the longest frame, and no MTU. */
	if (info.max_mtu == UINT16_MAX && info.max_rx_pktlen > RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN &&
	    out->mtu_bytes > info.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN)
		out->mtu_bytes = info.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
	conf.rxmode.mtu = out->mtu_bytes;
	if (wish->queues > 1)
		spread(&info, &conf);
	STEP("configure the device");
	failed = rte_eth_dev_configure(port, wish->queues, wish->queues, &conf);
	if (failed)
		return failed;
	out->rx_descriptors = wish->rx_descriptors;
	out->tx_descriptors = wish->tx_descriptors;
	STEP("choose the length of the queues");
	failed = rte_eth_dev_adjust_nb_rx_tx_desc(port, &out->rx_descriptors, &out->tx_descriptors);
	if (failed)
		return failed;
	failed = set_up_queues(port, wish, out, node);
	if (failed)
		return failed;
	STEP("read the MAC address");
	failed = rte_eth_macaddr_get(port, &mac);
	if (failed)
		return failed;
	memcpy(out->mac, mac.addr_bytes, sizeof(out->mac));
	return 0;
}

static void take_down(uint16_t port)
{
	struct rte_eth_dev_info info = {0};
	int known = rte_eth_dev_info_get(port, &info) == 0;

	rte_eth_dev_stop(port);
	rte_eth_dev_close(port);
	if (known && info.device)
		rte_dev_remove(info.device);
	free_pools(port);
}

/* Attaches a device and sets it up; 0 or a negative errno, with the step that failed. */
NV_EXPORT int32_t nv_attach(const char *devargs, const struct nv_wish *wish, struct nv_device *out)
{
	int failed;

	memset(out, 0, sizeof(*out));
	STEP("attach the device");
	/* Or the port of somebody else would be set up anew, and taken down where that fails. */
	if (find(devargs, &out->port) == 0)
		return -EEXIST;
	failed = rte_dev_probe(devargs);
	if (failed)
		return failed;
	STEP("find the device's port");
	failed = find(devargs, &out->port);
	if (failed)
		return failed;
	oversize[out->port] = 0;
	failed = set_up(out->port, wish, out);
	if (failed)
		take_down(out->port);
	return failed;
}

/* Starts it: from here on it receives. May be tried again where the far end is not there yet. */
NV_EXPORT int32_t nv_run(uint16_t port, uint8_t *promiscuous)
{
	int failed = rte_eth_dev_start(port);

	if (failed)
		return failed;
	*promiscuous = rte_eth_promiscuous_enable(port) == 0;
	return 0;
}

/* Takes it down and gives it back. No other thread may be using it. */
NV_EXPORT void nv_detach(uint16_t port)
{
	take_down(port);
}

NV_EXPORT int32_t nv_link(uint16_t port, struct nv_link *out)
{
	struct rte_eth_link link = {0};
	int failed = rte_eth_link_get_nowait(port, &link);

	out->up = link.link_status == RTE_ETH_LINK_UP;
	out->speed_mbps = link.link_speed;
	return failed;
}

NV_EXPORT int32_t nv_stats(uint16_t port, struct nv_stats *out)
{
	struct rte_eth_stats stats;
	int failed = rte_eth_stats_get(port, &stats);

	if (failed)
		return failed;
	*out = (struct nv_stats){
		.ipackets = stats.ipackets, .opackets = stats.opackets,
		.ibytes = stats.ibytes, .obytes = stats.obytes,
		.imissed = stats.imissed, .ierrors = stats.ierrors,
		.oerrors = stats.oerrors, .rx_nombuf = stats.rx_nombuf,
	};
	return 0;
}

/* The driver's own counters; gives how many there are, of which up to `room` are written. */
NV_EXPORT int32_t nv_xstats(uint16_t port, struct nv_xstat *out, uint32_t room)
{
	enum { MOST = 1024 };
	static struct rte_eth_xstat values[MOST];
	static struct rte_eth_xstat_name names[MOST];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int count, named;

	pthread_mutex_lock(&lock);
	named = rte_eth_xstats_get_names(port, names, MOST);
	count = rte_eth_xstats_get(port, values, MOST);
	if (named < 0 || count != named || count > MOST)
		count = named < 0 ? named : -E2BIG;
	for (int i = 0; i < count && (uint32_t)i < room; i++) {
		memcpy(out[i].name, names[values[i].id].name, sizeof(out[i].name));
		out[i].value = values[i].value;
	}
	pthread_mutex_unlock(&lock);
	return count;
}

/* Frames that were lost since they came in more pieces than fit into a buffer. */
NV_EXPORT uint64_t nv_oversize(uint16_t port)
{
	return __atomic_load_n(&oversize[port], __ATOMIC_RELAXED);
}

/* Takes up to `room` frames that wait, whole; they are the caller's until nv_free. */
NV_EXPORT uint32_t nv_rx(uint16_t port, uint16_t queue, struct nv_frame *out, uint32_t room)
{
	struct rte_mbuf *burst[NV_BURST];
	uint16_t taken = rte_eth_rx_burst(port, queue, burst, (uint16_t)RTE_MIN(room, (uint32_t)NV_BURST));
	uint32_t given = 0;

	for (uint16_t i = 0; i < taken; i++) {
		struct rte_mbuf *frame = burst[i];

		rte_prefetch0(rte_pktmbuf_mtod(frame, void *));
		if (unlikely(frame->nb_segs > 1) && rte_pktmbuf_linearize(frame) < 0) {
			__atomic_fetch_add(&oversize[port], 1, __ATOMIC_RELAXED);
			rte_pktmbuf_free(frame);
			continue;
		}
		out[given].buffer = frame;
		out[given].data = rte_pktmbuf_mtod(frame, uint8_t *);
		out[given].len = rte_pktmbuf_data_len(frame);
		given++;
	}
	return given;
}

/* Gives buffers back. */
NV_EXPORT void nv_free(const struct nv_frame *frames, uint32_t count)
{
	struct rte_mbuf *burst[NV_BURST];

	while (count > 0) {
		uint32_t some = RTE_MIN(count, (uint32_t)NV_BURST);

		for (uint32_t i = 0; i < some; i++)
			burst[i] = frames[i].buffer;
		rte_pktmbuf_free_bulk(burst, some);
		frames += some;
		count -= some;
	}
}

/* Takes `count` buffers to send, at most NV_BURST, all or none: 0, or a negative errno. `len` is their room. */
NV_EXPORT int32_t nv_alloc(uint16_t port, uint16_t queue, struct nv_frame *out, uint32_t count)
{
	struct rte_mbuf *burst[NV_BURST];

	if (count > NV_BURST)
		return -EINVAL;
	if (rte_pktmbuf_alloc_bulk(send_pools[port][queue], burst, count))
		return -ENOBUFS;
	for (uint32_t i = 0; i < count; i++) {
		out[i].buffer = burst[i];
		out[i].data = rte_pktmbuf_mtod(burst[i], uint8_t *);
		out[i].kept = kept_of(burst[i]);
		/* Until it is sent: a buffer that is given back instead may have anything in it. */
		keep(burst[i], 0);
		out[i].len = rte_pktmbuf_tailroom(burst[i]);
	}
	return 0;
}

/* Hands over up to NV_BURST frames of these lengths; gives how many the device took, the first ones. The others
 * are still the caller's. */
NV_EXPORT uint32_t nv_tx(uint16_t port, uint16_t queue, const struct nv_frame *frames, uint32_t count)
{
	struct rte_mbuf *burst[NV_BURST];

	if (count > NV_BURST)
		count = NV_BURST;
	for (uint32_t i = 0; i < count; i++) {
		burst[i] = frames[i].buffer;
		keep(burst[i], frames[i].kept);
		burst[i]->data_len = (uint16_t)frames[i].len;
		burst[i]->pkt_len = frames[i].len;
	}
	return rte_eth_tx_burst(port, queue, burst, (uint16_t)count);
}
