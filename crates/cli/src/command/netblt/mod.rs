//! `netanvil netblt`: bulk transfer after RFC 998 and RFC 1030.

mod args;
mod copy;
mod findings_1987;
mod neighbours;
mod outcome;
mod page_1987;
mod parameters;
mod paths;
mod planned;
mod quantiles;
mod reproduce;
mod sensitivity_1987;
mod serve;
mod told_1987;
mod transfer;

pub use args::Netblt;

use crate::failure::Outcome;

pub fn run(netblt: &Netblt) -> Outcome {
    match &netblt.command {
        args::Command::Send(arguments) => transfer::send(arguments),
        args::Command::Recv(arguments) => transfer::receive(arguments),
        args::Command::Test(arguments) => transfer::test(arguments),
        args::Command::Copy(arguments) => copy::run(arguments),
        args::Command::Serve(arguments) => serve::run(arguments),
        args::Command::Reproduce1987(arguments) => reproduce::run(arguments),
        args::Command::Planned1987(arguments) => planned::run(arguments),
        args::Command::Paths(arguments) => paths::run(arguments),
        args::Command::Neighbours(arguments) => neighbours::run(arguments),
    }
}
