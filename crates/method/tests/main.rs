//! The methods in virtual time, one module a family of tests; one binary, since to link costs most of the building.

mod chassis;
mod coverage;
mod known_truth;
mod mlr_oracle;
mod truth;
mod versus;
