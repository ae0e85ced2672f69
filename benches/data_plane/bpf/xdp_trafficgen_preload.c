// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loaded before libbpf where xdp-trafficgen 1.3 meets a newer kernel, on which it does not start:
 * it wants to trace events that the kernel no longer has, and probes with a frame of four bytes
 * where the kernel has come to ask for an Ethernet header. What it sends, and how, is untouched.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>

#define TRACEPOINT "tp_btf/"

static void leave_out_unknown_tracepoints(struct bpf_object *object)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		const char *section = bpf_program__section_name(program);
		char type[128];

		if (strncmp(section, TRACEPOINT, strlen(TRACEPOINT)) != 0)
			continue;
		snprintf(type, sizeof(type), "btf_trace_%s", section + strlen(TRACEPOINT));
		if (btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) < 0)
			bpf_program__set_autoload(program, false);
	}
	btf__free(kernel);
}

int bpf_object__load(struct bpf_object *object)
{
	int (*load)(struct bpf_object *) = dlsym(RTLD_NEXT, "bpf_object__load");

	leave_out_unknown_tracepoints(object);
	return load(object);
}

int bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton)
{
	int (*load)(struct bpf_object_skeleton *) = dlsym(RTLD_NEXT, "bpf_object__load_skeleton");

	leave_out_unknown_tracepoints(*skeleton->obj);
	return load(skeleton);
}

int bpf_prog_test_run_opts(int program, struct bpf_test_run_opts *options)
{
	int (*run)(int, struct bpf_test_run_opts *) = dlsym(RTLD_NEXT, "bpf_prog_test_run_opts");
	char header[ETH_HLEN] = {};

	if (options->data_in && options->data_size_in < ETH_HLEN) {
		memcpy(header, options->data_in, options->data_size_in);
		options->data_in = header;
		options->data_size_in = ETH_HLEN;
		if (options->ctx_in)
			((struct xdp_md *)options->ctx_in)->data_end = ETH_HLEN;
	}
	return run(program, options);
}
