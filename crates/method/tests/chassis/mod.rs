//! Tests of many ports on simulated devices whose right answer follows from their description.

mod addresses;
mod bed;
mod filters;
mod gigaswitch;
mod half_duplex;
mod held_up;
mod mesh;
mod multicast;
mod side_by_side;
mod tolly;
mod traffic;
