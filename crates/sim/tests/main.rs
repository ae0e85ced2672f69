//! Simulated testers and devices, one module a file.

/// As many at a time as there are processors (`make test-pure`).
mod pure {
    mod fddi;
    mod forgery;
    mod half_duplex;
    mod harvard_1990;
    mod observed;
    mod strangers;
}
