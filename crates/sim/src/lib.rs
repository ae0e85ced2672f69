//! Virtual time: simulated links and devices whose truth is known, and a [`trial::Tester`] that
//! runs trials on them.
