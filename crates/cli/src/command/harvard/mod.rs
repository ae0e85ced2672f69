//! `netanvil harvard`: repeats the published router tests of 1989 and 1990 in virtual time.

mod findings_1989;
mod graphs_1989;
mod published;
mod remarks;
mod reproduce_1989;
mod reproduce_1990;

use crate::failure::Outcome;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct Harvard {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run the suite of 1990 on models of its products; print published and measured tables side by side
    #[command(
        name = "reproduce-1990",
        after_help = "\
Examples:
  netanvil harvard reproduce-1990
  netanvil harvard reproduce-1990 --html harvard-1990.html
  netanvil harvard reproduce-1990 --product 1990/p4200

A figure is informative if a device forwarded it and it is below 98 % of what its source sent. Exit code 1 unless
50 % of the informative figures are within 1 % and 95 % of them within 5 %.
"
    )]
    Reproduce1990(Reproduce1990),
    /// Check the statements of the report of 1989 on models of its products
    #[command(
        name = "reproduce-1989",
        after_help = "\
Examples:
  netanvil harvard reproduce-1989
  netanvil harvard reproduce-1989 --html harvard-1989.html

Exit code 1 if a statement is not reproduced, or something that the text found of all routers.
"
    )]
    Reproduce1989(Reproduce1989),
}

#[derive(Args, Debug)]
pub struct Reproduce1989 {
    /// Write an HTML page with statements and graphs
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Reproduce1990 {
    /// Write an HTML page with graphs
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Test this product only
    #[arg(long, value_name = "NAME")]
    pub product: Option<String>,
    /// Duration of a stream [default: 20 s for max rate, 30 s for raw rate]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<crate::options::Span>,
    /// Do not print progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

pub fn run(harvard: &Harvard) -> Outcome {
    match &harvard.command {
        Command::Reproduce1990(arguments) => reproduce_1990::run(arguments),
        Command::Reproduce1989(arguments) => reproduce_1989::run(arguments),
    }
}
