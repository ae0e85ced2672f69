//! The methods in virtual time, one module a family of tests; one binary, since to link costs most of the building.

mod chassis;
mod coverage;
mod known_truth;
mod mlr_oracle;
#[path = "../../../tests/new_seed.rs"]
mod new_seed;
mod new_seeds;
mod truth;
mod versus;
