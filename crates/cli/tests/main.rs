//! The real command line, one module a file; one binary, since to link costs most of the building.

mod common;

/// On real devices and programs, where nothing is measured: several at a time (`make test-live`).
mod concurrent {
    mod address_tables;
    mod campaign;
    mod doctor;
    mod dpdk_ports;
    mod failures;
    mod hammer;
    mod ipv6;
    mod netblt;
    mod netblt_copy;
    mod netblt_copy_ends;
    mod netblt_interop;
    mod netblt_interrupted;
    mod netblt_link;
    mod netblt_mtu;
    mod nothing_comes_back;
    mod refusals;
    pub mod serve;
    mod snooping;
    mod tunnels;
    mod wrong_inputs;
}

/// On real devices, in real time: one at a time, with nothing beside them (`make test-live`).
mod live {
    mod balance;
    mod far;
    mod faults;
    mod feeds;
    mod harvard;
    mod jobs;
    mod known_limits;
    mod l3fwd;
    mod mld_routing;
    mod netblt_l4s;
    mod netblt_link;
    mod netem;
    mod ovs_dpdk;
    mod scheduling;
    mod serve;
    mod switches;
    mod testpmd;
    mod traffic;
    mod tunnels;
    mod versus;
}

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod campaign;
    mod configuration;
    mod contradictions;
    mod figures;
    mod fit;
    mod guards;
    mod l3fwd;
    mod netblt_constants;
    mod options;
    mod ovs_dpdk;
    mod packaging;
    mod publish;
    mod runs;
    mod testpmd;
    mod traffic;
    mod traffic_keys;
    mod usage;
    mod versus;
}
