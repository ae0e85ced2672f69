//! Where each formula and rule of a report comes from.

/// (what, formula or rule, document and section).
pub(super) const SOURCES: [(&str, &str, &str); 15] = [
    (
        "Frame size",
        "octets from the first after the preamble through the end of the FCS",
        "RFC 1242 section 3.5",
    ),
    (
        "Theoretical maximum",
        "line rate / ((frame size + 20) x 8), truncated to whole frames/s",
        "RFC 2544 section 20, appendix B",
    ),
    ("Throughput", "the highest rate at which no frame is lost", "RFC 2544 section 26.1"),
    ("Frame loss rate", "(input - output) x 100 / input", "RFC 2544 section 26.3"),
    (
        "Latency, RFC 2544",
        "mean over the repetitions of one tagged frame each, at the throughput rate",
        "RFC 2544 section 26.2",
    ),
    (
        "Latency, typical and worst case",
        "median of the medians, and of the 99.9th percentiles, of many tagged frames each",
        "RFC 8219 section 7.2",
    ),
    (
        "Percentile",
        "the smallest value x with F(x) >= p, without interpolation; high by at most 0.79 %",
        "RFC 2330 section 11.3",
    ),
    ("Packet delay variation", "D(99.9) - D(min)", "RFC 5481 section 4.2, RFC 8219 section 7.3.1"),
    ("Jitter", "mean of |D(i) - D(i-1)|", "RFC 4689 section 3.2.5"),
    (
        "Back-to-back frames",
        "average over the searches of the longest burst at the minimum gap without loss",
        "RFC 9004 sections 6.2 to 6.4",
    ),
    (
        "Corrected buffer time",
        "burst / maximum x (1 - throughput / maximum)",
        "RFC 9004 section 6.4",
    ),
    (
        "System recovery",
        "time from the halving of the load to the departure of the last frame lost",
        "RFC 2544 section 26.5",
    ),
    (
        "Reset time",
        "frames lost / offered rate; first arrival after - last arrival before",
        "RFC 6201 section 1.3",
    ),
    ("Reordered", "sequence number below one that arrived before", "RFC 4737 section 3.3"),
    ("Duplicate", "sequence number that arrived before", "RFC 4689 section 3.3.5"),
];
