// SPDX-License-Identifier: Dual MIT/GPL
/* The cheapest far end there is: every frame is dropped in the driver. */
#include <linux/bpf.h>

__attribute__((section("xdp"), used)) int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char license_of_this[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
