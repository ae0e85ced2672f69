# netanvil: the few commands one needs. Each is safe to repeat.

# What builds and tests need beyond Rust. The first line builds; the second runs devices under
# test; the rest are other people's tools that tests and benchmarks compare with.
PACKAGES := clang llvm libbpf-dev libc6-dev gcc libdpdk-dev pkg-config \
            nftables iproute2 ethtool kmod procps util-linux \
            frr tshark tcpdump chromium netsniff-ng dpdk-dev xdp-tools jq snmp snmpd bird2 \
            openvswitch-switch openvswitch-switch-dpdk tayga python3 python3-venv python3-apt openssh-client openssh-server rsync prometheus \
            umoci busybox-static binutils postgresql curl

NETANVIL := target/release/netanvil
DEMO     := target/demo

# The reference implementation of MLRsearch, an oracle for ours; used in tests alone.
ORACLE   := target/mlr-oracle

.PHONY: agents originals fleet-test sweep-check twin-check help setup build demo test test-pure test-live test-benches test-python python oci install install-netblt cross-check packages packages-test reproducible package package-quick truth coverage mlr-oracle netblt-1987 netblt-copy netblt-hostile netblt-interop netblt-neighbours netblt-paths otg-fuzz harvard-1989 harvard-1990 harvard-1990-scores lint faults bench bench-simulator bench-netblt bench-scaling netblt-transfers clean gigaswitch tolly-1998 traffic-check screenshots versus-check forwarder-check stability credit credit-quick tutorials tutorials-quick site l3fwd packages-dpdk packages-dpdk-test

help:
	@echo "make setup   install what is needed (apt, as root)"
	@echo "make l3fwd   DPDK's example l3fwd out of the distribution's source, for --device l3fwd; in target/l3fwd"
	@echo "make demo    build, then a short RFC 2544 suite on a Linux router in namespaces"
	@echo "make test    all tests: test-pure, test-live (real devices, as root), test-benches, test-python, tutorials-quick"
	@echo "make tutorials  execute the tutorials of docs/tutorials and check their output, as root; some minutes"
	@echo "make site    the documents as a static site, in target/site; a broken link is an error"
	@echo "make python  the Python wheel, in target/python/wheels, and all its tests"
	@echo "make oci     a container image as an OCI layout, in target/oci"
	@echo "make install  the program of make build, manual pages, completions and unit into PREFIX=/usr/local (DESTDIR, PROGRAM)"
	@echo "make install-netblt  NETBLT for programs in C, libraries, header and pkg-config file, into PREFIX=/usr/local (DESTDIR)"
	@echo "make cross-check  NETBLT's crates compile for macOS, its protocol for Windows; the sockets of other systems, on Linux"
	@echo "make packages  static program, archive, .deb, .rpm, wheel, container image and bill of materials, in target/packages"
	@echo "make packages-test  each of them installed into an empty root, and a short test of a router run from there"
	@echo "make packages-dpdk  netanvil-dpdk as .deb: the program with dpdk ports, against this Debian's DPDK, in target/packages-dpdk"
	@echo "make packages-dpdk-test  it in an empty root with what it depends on, and a throughput over memif from there (as root)"
	@echo "make reproducible  the static program built in two folders: the same to the bit"
	@echo "make truth   2,000 random devices whose truth is known: no wrong number may be stated"
	@echo "make coverage  how often each search's bounds hold the truth on noisy devices, and at what cost"
	@echo "make mlr-oracle  our MLRsearch beside its reference implementation: trials, time, results"
	@echo "make agents  1,000 trials between agents whose clocks are known exactly, and 50 agents killed in a trial (TRIALS=20 DEATHS=4)"
	@echo "make otg-fuzz  requests made from the specification of the OTG API, good and bad, against netanvil otg"
	@echo "make versus-check  versus finds 3 % and one nftables rule, and nothing where there is nothing; 25 minutes"
	@echo "make forwarder-check  the throughput stated of an XDP forwarder beside the kernel's counters, quiet and beside busy loops"
	@echo "make stability  how far ten runs of make demo's throughput lie apart, beside testpmd and trafgen"
	@echo "make credit  what catching up with lateness costs and spares, by credit, rate, queue and load (credit-quick: xdp only)"
	@echo "make traffic-check  netanvil traffic at RATE=1000000 for DURATION=30 s beside testpmd and iperf3 -u: rate reached, loss counted"
	@echo "make fleet-test  512 jobs on three Ray nodes, one killed half-way, into a PostgreSQL that crashes; some minutes"
	@echo "make twin-check  simulated devices fitted to a real router: what they foretell beside what it does; half an hour"
	@echo "make sweep-check  10,000 random devices on one processor and on all: the same results, and the speed-up"
	@echo "make screenshots  the reports in headless Chromium at 1400 and 400 px, for the documentation"
	@echo "make netblt-1987   the NETBLT tests of 1987 beside ours"
	@echo "make netblt-copy  20,000 files, and 10 of 1 GB, over 50 ms and 1 % loss, killed ten times and gone on with, beside rsync"
	@echo "make netblt-hostile  a NETBLT server among 100,000 spoofed OPENs and 1,000 half-dead peers; what it reflects"
	@echo "make netblt-interop  NETBLT with a second implementation, in Python, that knows RFC 998 alone"
	@echo "make harvard-1989  the router tests of 1989 on models of their products, beside what was published"
	@echo "make harvard-1990  the router tests of 1990 on models of their products, beside the published tables"
	@echo "make harvard-1990-scores  fits those models, scores figures held out of the fit, writes models and scores"
	@echo "make originals  every source document beside ours, with one index page, in target/originals; SHORT=1 for a first look"
	@echo "make gigaswitch  DEC's GIGAswitch tests of 4, 8 and 34 ports, beside the published figures"
	@echo "make netblt-paths  NETBLT's rate control over today's paths, beside TCP; SEEDS=30 for quantiles"
	@echo "make tolly-1998  the Tolly Group's tests of the IP9000 on a model of it, beside the published figures"
	@echo "make faults  busy processors, stopped programs, links down, chatter, forgery: valid trials beside kernel counters"
	@echo "make kernels  Debian's kernels in QEMU: tunnels, netem, MLD routing, network cards and DPDK inside; docs/kernels.md"
	@echo "make lint    formatting, clippy, and whether each library crate can be packed"
	@echo "make package the library crates as packages, each built from its own; in target/package"
	@echo "make bench   this tester beside others, on this machine"
	@echo "make bench-simulator  the simulator alone, beside ns-3"
	@echo "make bench-netblt     NETBLT alone, beside TCP, QUIC, UDT and rsync; ONLY='a file' for some"
	@echo "make bench-scaling    what a frame costs as ports, flows and groups become many"
	@echo "make netblt-neighbours NETBLT and the kernel's TCP on one link: who gets which share"
	@echo "make netblt-transfers a gigabyte by NETBLT over links that lose packets, its ends killed on the way"
	@echo "make clean   remove what builds and killed runs left"

# Asks dpkg first: the second time it takes no time and no network.
setup:
	@missing=$$(for package in $(PACKAGES); do \
	    dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
	        || echo $$package; done | xargs); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	    echo "setup: no apt here; please install the like of: $$missing" >&2; exit 0; fi; \
	if [ "$$(id -u)" -ne 0 ]; then \
	    echo "setup: not root; please run: sudo apt-get install -y $$missing" >&2; exit 0; fi; \
	echo "setup: installing $$missing"; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null

build: setup
	cargo build --release --package netanvil

demo: build
	@rm -rf $(DEMO)
	@# 3: a test had no valid trial, which the report explains; a first look on a busy machine may.
	$(NETANVIL) run --device linux-router --profile quick --out $(DEMO) || [ $$? -eq 3 ]
	@echo
	@echo "report: $(CURDIR)/$(DEMO)/report.html"

# All of it, tier after tier; a failure in one does not keep the others from being run.
test: setup $(ORACLE)/ready
	cargo test --no-run
	@failed=0; for tier in test-pure test-live test-benches test-python tutorials-quick site package-quick; do \
	    $(MAKE) --no-print-directory $$tier || failed=1; done; exit $$failed

# Unit tests, documentation, and what needs no device: as many at a time as there are processors.
test-pure:
	@# Tests of properties take PROPTEST_RNG_SEED, 1989 if nobody sets it: once more with a new one.
	@failed=0; cargo test --no-fail-fast -- --skip live:: --skip concurrent:: || failed=1; \
	seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "tests of properties with a new seed; make test-pure SEED=$$seed has it again"; \
	PROPTEST_RNG_SEED=$$seed cargo test --no-fail-fast --lib --quiet -- --skip live:: || failed=1; \
	PROPTEST_RNG_SEED=$$seed cargo test --no-fail-fast --package netanvil-method --package netanvil-sim \
	    --test main --quiet -- policies::the_truth_is_bracketed a_sharp_knee_is_bracketed any_device_is_refused || failed=1; \
	exit $$failed

# Real devices, real ports, real time; as root. First what measures nothing, several tests at a time; then one at a
# time. Tests whose tester was held up say so, and one that fails is run once more: more than UNDECIDED_MAX of
# either are a failure.
UNDECIDED     := target/undecided
UNDECIDED_MAX := 8
test-live: setup
	-extras/l3fwd.sh target/l3fwd
	extras/test-live.sh $(CURDIR)/$(UNDECIDED) $(UNDECIDED_MAX)

# What the benchmarks compute with.
test-benches:
	cargo test --no-fail-fast $(BENCHES:%=--package netanvil-%)
BENCHES := bench credit-bench scaling-bench simulator-bench

# The Python module, with the program that the tests above have built: under a minute, once pip has what it needs.
test-python: setup
	extras/test-python.sh dev

# The same with the release build: the wheel is in target/python/wheels.
python: setup
	extras/test-python.sh release

# The tutorials, each in namespaces of its own. `make test` has those that take seconds, with the program that the tests
# have built. TUTORIALS='versus ipv6' for some of them.
tutorials: setup
	cargo build --package netanvil
	extras/tutorials.py --netanvil target/debug/netanvil $(TUTORIALS)

tutorials-quick: setup
	cargo build --quiet --package netanvil
	extras/tutorials.py --netanvil target/debug/netanvil --quick

# docs/index.md orders the pages. The first time it installs MkDocs by pip.
SITE_TOOLS := target/site-tools
site: $(SITE_TOOLS)/ready
	extras/site.py $(SITE_TOOLS)/bin/mkdocs target/site

$(SITE_TOOLS)/ready: extras/site-requirements.txt
	python3 -m venv --clear $(SITE_TOOLS)
	$(SITE_TOOLS)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# Without a container engine. docs/labs.md says how to load it.
oci: build
	extras/oci-layout.sh $(NETANVIL) target/oci/netanvil

# What `make build` has built, or PROGRAM. It builds nothing, so that root can run it.
PREFIX  ?= /usr/local
PROGRAM ?= $(NETANVIL)
install:
	extras/packages/install.sh "$(PROGRAM)" "$(DESTDIR)" "$(PREFIX)"

# NETBLT for programs in C: libraries, header and pkg-config file. docs/netblt-library.md.
install-netblt:
	cargo build --release --package netanvil-netblt-c
	extras/packages/install-netblt.sh target/release "$(DESTDIR)" "$(PREFIX)"

# NETBLT's crates for macOS and Windows, checked without their libraries, and the sockets of other systems on Linux. 150 MB
# of Debian's packages the first time; nothing is installed.
cross-check:
	cargo test --package netanvil-netblt-io --features portable-sockets
	extras/cross-check.sh target/cross

# Half an hour the first time, most of it for tools and link-time optimisation. docs/install.md.
packages: setup
	@$(MAKE) --no-print-directory setup PACKAGES='$(PACKAGING)'
	extras/packages/packages.sh target/packages
PACKAGING := musl-tools clang binutils gzip tar git umoci busybox-static python3-venv

# As root, some minutes after `make packages`.
packages-test: packages
	@$(MAKE) --no-print-directory setup PACKAGES='lintian rpm rpmlint mandoc jq systemd'
	extras/packages/test.sh target/packages
	extras/action/test.sh target/packages/netanvil

# The program with dpdk ports, for Debian; some minutes of link-time optimisation.
packages-dpdk: setup
	@$(MAKE) --no-print-directory setup PACKAGES='clang gcc libdpdk-dev pkg-config binutils gzip git python3 dpkg-dev'
	extras/packages/dpdk.sh target/packages-dpdk

# As root; apt fetches what the package depends on.
packages-dpdk-test: packages-dpdk
	extras/packages/dpdk-test.sh target/packages-dpdk

reproducible: setup
	@$(MAKE) --no-print-directory setup PACKAGES='$(PACKAGING)'
	extras/packages/reproducible.sh

# Crates that others can use. Offline: what they are built of is there after a build.
LIBRARIES := units wire traffic trial netblt netblt-io netblt-client netblt-c netblt-studies sim bpf-build kernel ports testbed link agent otg hammer method report serve fleet twin
PACKAGE   := cargo package --offline $(LIBRARIES:%=--package netanvil-%)

# Packs all and builds each from its package alone; some minutes, after a commit.
package:
	$(PACKAGE)
	@echo "packages: $(CURDIR)/target/package"

# Packs all; a second.
package-quick:
	$(PACKAGE) --allow-dirty --no-verify --quiet

# Both profiles on simulated devices, about ten minutes. Exit code 2 if a number is wrong, or too little is
# decided. TRUTH_SEED=N looks at one device. Then POLICERS=600 random token buckets without a queue.
truth: TRUTH_DEVICES ?= 2000
truth:
	NETANVIL_TRUTH_DEVICES=$(TRUTH_DEVICES) NETANVIL_TRUTH_SEED=$(TRUTH_SEED) \
	    NETANVIL_POLICERS=$(or $(POLICERS),600) \
	    cargo test --release --package netanvil-method --test main -- truth:: --nocapture

# Simulated searches, about ten minutes; SEEDS=100 for a shorter one.
coverage:
	NETANVIL_COVERAGE_SEEDS=$(or $(SEEDS),1000) \
	    cargo test --package netanvil-method --test main -- coverage:: --nocapture --test-threads=1

# The API of `netanvil otg` against requests made from its specification: for SECONDS (300), of EXAMPLES (500) of
# each kind at a time. The seed is printed; SEED=N has the same requests again.
otg-fuzz:
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; seconds=$(or $(SECONDS),300); \
	echo "$$seconds s of requests; make otg-fuzz SECONDS=$$seconds SEED=$$seed has them again"; \
	NETANVIL_OTG_SEED=$$seed NETANVIL_OTG_SECONDS=$$seconds NETANVIL_OTG_EXAMPLES=$(or $(EXAMPLES),500) \
	    cargo test --package netanvil-otg --test main -- --ignored concurrent::fuzz --nocapture

# Agents whose clocks are hours apart: every bound holds the truth, every death ends cleanly. TRIALS=20 DEATHS=4 for a short
# one; about a second a trial.
agents: setup
	NETANVIL_AGENT_TRIALS=$(or $(TRIALS),1000) NETANVIL_AGENT_DEATHS=$(or $(DEATHS),50) \
	    cargo test --package netanvil-agent --test main -- live:: --nocapture --test-threads=1

mlr-oracle: $(ORACLE)/ready
	NETANVIL_ORACLE=full cargo test --package netanvil-method --test main -- mlr_oracle:: --nocapture --test-threads=1

# Without it, the tests compare with its recorded outcomes, and say so.
$(ORACLE)/ready:
	@rm -rf $(ORACLE); mkdir -p $(ORACLE)
	@if python3 -m venv $(ORACLE) && $(ORACLE)/bin/pip install --quiet --disable-pip-version-check MLRsearch==1.2.1; \
	then touch $@; \
	else rm -rf $(ORACLE); \
	    echo "mlr-oracle: no reference implementation; it needs python3-venv and PyPI" >&2; fi

# Distributions have l3fwd as source alone. The examples of Debian's dpdk-doc are fetched, not installed.
l3fwd: setup
	extras/l3fwd.sh target/l3fwd

# As root, on a quiet machine; REPETITIONS=5 for a shorter one.
versus-check: setup
	cargo build --release --package netanvil
	extras/versus-check.sh $(NETANVIL) $(or $(REPETITIONS),20)

forwarder-check: build
	extras/forwarder-check.sh $(NETANVIL) $(or $(ROUNDS),5)

# As root, about two minutes. Exit code 1 if an account does not close, a second has no line, or the cable lost a frame.
traffic-check: setup
	@$(MAKE) --no-print-directory setup PACKAGES='iperf3 dpdk-dev jq'
	cargo build --release --package netanvil
	extras/traffic-check.sh $(NETANVIL) $(or $(RATE),1000000) $(or $(DURATION),30)

# Ray comes from PyPI, 80 MB. Exit code 1 unless every job is in the database exactly once. REPETITIONS=6 for 48 jobs.
RAY := target/ray
fleet-test: setup
	cargo build --release --package netanvil
	@[ -x $(RAY)/bin/ray ] || { python3 -m venv $(RAY) && $(RAY)/bin/pip install --quiet --disable-pip-version-check ray==2.60.0; }
	PYTHONPATH=python/src NETANVIL_PROGRAM=$(CURDIR)/$(NETANVIL) $(RAY)/bin/python extras/fleet-test.py $(or $(REPETITIONS),64)

sweep-check: setup
	cargo build --release --package netanvil
	extras/sweep-check.sh $(NETANVIL) $(or $(DEVICES),10000)

# Twins of a real router without filters and with 1, 10 and 25, as root, half an hour. Exit code 1 if a target is missed.
twin-check: setup
	cargo build --release --package netanvil
	extras/twin-check.sh $(NETANVIL) $(or $(ROUNDS),8)

# A minute after the build. Leaves docs/screenshots.
screenshots: setup
	cargo build --release --package netanvil
	extras/screenshots.sh $(NETANVIL) docs/screenshots

# As root, on a quiet machine, eight minutes; leaves benches/CREDIT.md, which docs/pacing.md explains.
CREDIT := target/release/netanvil-credit-bench
credit: setup
	cargo build --release --package netanvil-credit-bench
	@mkdir -p target/credit; { echo "# What credit costs and spares"; echo; \
	echo 'Made by `make credit`; [docs/pacing.md](../docs/pacing.md) says how to read it.'; \
	for type in xdp af_xdp af_packet; do for load in idle busy; do \
	    echo; echo "## $$type, $$load"; echo; \
	    $(CREDIT) --port-type $$type --load $$load --json target/credit/$$type-$$load.json || exit 2; \
	    echo; echo "As runs have it, 100 us and at most 128 frames:"; echo; \
	    $(CREDIT) --port-type $$type --load $$load --credits 100 --credit-frames 128 \
	        --json target/credit/$$type-$$load-default.json || exit 2; \
	done; done; } > target/credit/CREDIT.md
	@mv target/credit/CREDIT.md benches/CREDIT.md; echo "table: $(CURDIR)/benches/CREDIT.md"

# The same in half a minute after the build: xdp ports, fewer credits and shorter trials; prints only.
credit-quick: setup
	cargo build --release --package netanvil-credit-bench
	@for load in idle busy; do \
	    $(CREDIT) --load $$load --credits 10,100,1000,-1 --rates 10000,100000,0 --trials 3 \
	        --trial-ms 200 --json target/credit-quick-$$load.json || exit 2; \
	done

# As root, on a quiet machine, under ten minutes. Exit code 1 if netanvil's runs lie further apart than 5 %.
stability: setup
	cargo build --release --package netanvil --package netanvil-bench
	target/release/netanvil-bench --without xdp-trafficgen stability

# The 96 runs of RFC 1030 over emulated networks; some seconds. Exit code 1 if they miss the targets: three of the
# text's findings are not met.
netblt-1987: setup
	cargo build --release --package netanvil
	$(NETANVIL) netblt reproduce-1987

# Trees of files by `netblt copy` over a link with loss and delay, over real ssh, both ends killed on the way; rsync
# over the same link in the same run. As root, a quarter of an hour and 20 GB of disk. NETANVIL_COPY_SEED=N for another tree. `make test`
# runs a short form.
netblt-copy: setup
	NETANVIL_COPY=full cargo test --package netanvil --test main -- concurrent::netblt_copy --nocapture --test-threads=1

# Measures what a server sends to whoever did not ask, and a good transfer among strangers; a minute or two.
# `make test` runs it with a tenth of the OPENs and a fifth of the peers.
netblt-hostile:
	cargo test --package netanvil-netblt --test model -- strangers hostile places
	cargo test --package netanvil-netblt-io --test main -- concurrent::reflection --nocapture
	NETANVIL_HOSTILE=full cargo test --package netanvil-netblt-io --test main -- live::crowds --nocapture --test-threads 1

# Both ways over UDP and IP protocol 30, IPv4 and IPv6; all sizes, stalls of 12 s, numbers that wrap: some
# minutes. As root, or raw IP is left out. `make test` runs a short form.
netblt-interop:
	NETANVIL_INTEROP=full cargo test --package netanvil --test main -- concurrent::netblt_interop --nocapture

# All of the following, each as page and PDF, and an index. Exit code 1 if one misses its targets.
originals: setup
	cargo build --release --package netanvil
	extras/originals.py $(NETANVIL) target/originals $(if $(SHORT),--short)

# What the text of 1989 tells; under a minute. Exit code 1 if a statement or a finding is not reproduced: the models
# have no cost of a filter, which the text does not tell.
harvard-1989: setup
	cargo build --release --package netanvil
	$(NETANVIL) harvard reproduce-1989

# All 43 tables, some minutes, and a page with graphs. Exit code 1 if the informative figures miss the targets.
harvard-1990: setup
	cargo build --release --package netanvil
	$(NETANVIL) harvard reproduce-1990 --html target/harvard-1990.html
	@echo "page: $(CURDIR)/target/harvard-1990.html"

# The models of 1990 by maximum likelihood, from starting values by rule; fits without a random 30 % of the figures and
# without whole classes; a bootstrap. Writes crates/sim/devices/harvard-1990 and data/harvard-1990-*.csv; some minutes.
harvard-1990-scores:
	cargo run --release --package netanvil-sim --example fit_harvard_1990 -- --write

# On a switch that scales, and on one that does not; some minutes. Trials of 60 s of virtual time with
# 4 and 8 ports, of 1 s with all 34.
gigaswitch: setup
	cargo build --release --package netanvil
	@rm -rf target/gigaswitch target/gigaswitch-bus
	$(NETANVIL) run gigaswitch --sim gigaswitch --set chassis.fanout.all_ports_trial_s=1 --out target/gigaswitch
	$(NETANVIL) run gigaswitch --sim gigaswitch/bus --duration 1s --out target/gigaswitch-bus \
	    --test extrapolation

# Some minutes; leaves netblt-paths.html with plots. Exit code 1 if a target is missed. SEEDS=30 judges each row by
# quantiles of 30 runs, and takes as many times as long.
netblt-paths: SEEDS ?= 1
netblt-paths: setup
	cargo build --release --package netanvil
	$(NETANVIL) netblt paths --seeds $(SEEDS) --html netblt-paths.html

# A million hosts, 65,536 groups, a mesh of groups, on a model of the router: about two minutes and, for the
# packets of eight inputs to a million hosts, three gigabytes.
tolly-1998: setup
	cargo build --release --package netanvil
	@rm -rf target/tolly-1998
	$(NETANVIL) run tolly --sim ip9000 --out target/tolly-1998
	@echo "page: $(CURDIR)/target/tolly-1998/report.html"

# As root, about six minutes. At least 200 trials of real devices while something goes wrong; each valid one
# must agree with the kernel to the frame. FAULTS=link-down,forged for some of them, FAULTS_SEED=N for the same again.
faults: FAULTS ?= all
faults: setup
	NETANVIL_FAULTS=$(FAULTS) NETANVIL_FAULTS_SEED=$(FAULTS_SEED) \
	    cargo test --package netanvil --test main -- live::faults --nocapture

# Boots each kernel without KVM and tries every feature inside; as root, from Debian's mirror, an hour. Leaves
# docs/kernels.md; exit code 1 if a feature failed. KERNELS='6.1 backports' for some, ONLY='between-gre boot' likewise.
kernels: setup
	extras/kernels/kernels.py --page docs/kernels.md $(if $(KERNELS),--kernels '$(KERNELS)') $(if $(ONLY),--only '$(ONLY)')

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@$(MAKE) --no-print-directory package-quick

# Beside trafgen, xdp-trafficgen and testpmd; as root, about twenty minutes. Leaves benches/RESULTS.md.
# A target that the simulator misses does not keep the ports from being measured.
bench: setup
	cargo build --release --package netanvil-bench
	@$(MAKE) --no-print-directory bench-simulator; simulated=$$?; \
	$(MAKE) --no-print-directory bench-netblt; moved=$$?; \
	$(MAKE) --no-print-directory bench-scaling; scaled=$$?; \
	target/release/netanvil-bench && exit $$((simulated | moved | scaled))

# The simulator beside ns-3, half a minute. Leaves benches/SIMULATOR.md.
bench-simulator:
	@$(MAKE) --no-print-directory setup PACKAGES='g++ libns3-dev'
	cargo build --release --package netanvil-simulator-bench
	target/release/netanvil-simulator-bench

# NETBLT beside TCP (iperf3), QUIC (quinn), UDT and rsync, over a veth pair and over a link with loss and delay; as
# root, some minutes. Leaves benches/NETBLT.md. Exit code 1 if a target is missed. ONLY='a file' runs those alone and leaves nothing.
bench-netblt:
	@$(MAKE) --no-print-directory setup PACKAGES='iperf3 iproute2 rsync libudt-dev g++'
	cargo build --release --package netanvil --package netanvil-netblt-bench
	g++ -O2 -o target/udt-rival benches/netblt/udt.cpp -ludt -lpthread
	target/release/netanvil-netblt-bench compare $(if $(ONLY),--only '$(ONLY)')

# NETBLT beside the kernel's CUBIC, Reno and BBR on one real-time link, 1:1, 4:4 and 1:16, and CUBIC in its place; as root,
# half an hour for three rounds (ONLY='cubic 1:16': one case). Leaves benches/NEIGHBOURS.md. Exit code 1 if a target is missed. `netanvil netblt neighbours` is the same in virtual time.
netblt-neighbours:
	@$(MAKE) --no-print-directory setup PACKAGES='iperf3 iproute2 nftables'
	cargo build --release --package netanvil --package netanvil-netblt-bench
	target/release/netanvil-netblt-bench neighbours $(if $(ONLY),--only '$(ONLY)')

# In virtual time and on veth pairs, as root, some minutes. Leaves benches/SCALING.md and its plots. Exit code 1
# if a target is missed.
bench-scaling:
	cargo build --release --package netanvil-scaling-bench
	target/release/netanvil-scaling-bench

# As root, some minutes.
netblt-transfers: setup
	cargo build --release --package netanvil --package netanvil-netblt-bench
	target/release/netanvil-netblt-bench transfers

clean:
	-@[ ! -x $(NETANVIL) ] || $(NETANVIL) clean
	cargo clean
