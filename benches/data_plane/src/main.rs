//! `make bench`: netanvil's ports beside other tools, on the same kind of veth pair, the same
//! cores, in one run.
//!
//! Each case gets a fresh pair in a fresh namespace. All cases take turns, round after round, and
//! medians are printed. Rates of senders are read from the far interface's own counter, the same
//! way for all; rates of receivers from what they themselves account for.
//!
//! Whatever cannot be measured is an error in the output, never a gap in a table. Processes,
//! namespaces and files of the run go with it, after Ctrl-C too.

mod bed;
mod competitor;
mod error;
mod frame_building;
mod helpers;
mod machine;
mod memif;
mod netanvil;
mod options;
mod pacing;
mod process;
mod queues;
mod report;
mod results;
mod spinning;
mod stability;
mod subject;
mod suite;
mod targets;
mod window;

use clap::Parser;
use competitor::Arena;
use error::{BenchError, Result, system};
use helpers::Helpers;
use machine::Machine;
use options::Options;
use ports::scheduling::Priority;
use results::Results;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use suite::Suite;
use targets::Outcome;

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(options::Command::Stability(stability)) = &options.command {
        return match spread(&options, stability) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(error) => {
                eprintln!("netanvil-bench: {error}");
                ExitCode::from(2)
            }
        };
    }
    match run(&options) {
        Ok(results) => {
            let missed = results.verdicts.iter().any(|verdict| verdict.outcome == Outcome::Fail);
            match (results.failures.is_empty(), missed) {
                (false, _) => ExitCode::from(2),
                (true, true) => ExitCode::from(1),
                (true, false) => ExitCode::SUCCESS,
            }
        }
        Err(error) => {
            eprintln!("netanvil-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<Results> {
    let machine = machine::examine(options)?;
    let stop = watch_signals()?;
    let priority = Priority::raise();
    let helpers = Helpers::compile()?;
    let cores = machine::pick_cores()?;
    let results = empty(options, machine, &helpers, cores, &priority)?;
    let suite = Suite { options, arena: Arena { cores, helpers: &helpers, stop }, results };
    let (results, interrupted) = suite.run();
    let markdown = report::markdown(&results);
    println!("{markdown}");
    let json = serde_json::to_string_pretty(&results).expect("results are plain data");
    write(&options.json, &json)?;
    if interrupted {
        return Err(BenchError::Interrupted);
    }
    write(&options.markdown, &markdown)?;
    Ok(results)
}

/// `stability`: whether its target is met.
fn spread(options: &Options, stability: &stability::Stability) -> Result<bool> {
    let machine = machine::examine(options)?;
    let stop = watch_signals()?;
    let _priority = Priority::raise();
    let helpers = Helpers::compile()?;
    let cores = machine::pick_cores()?;
    println!("{}, {}, {} cores, {}", machine.date, machine.cpu, machine.cores, machine.kernel);
    stability::run(stability, &Arena { cores, helpers: &helpers, stop })
}

/// Progress goes to stderr.
pub fn say(text: &str) {
    eprintln!("{text}");
}

/// Ctrl-C and the like stop the run in an orderly way; a second one ends it at once.
fn watch_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(system("watch for signals"))?;
    }
    Ok(stop)
}

fn empty(
    options: &Options,
    machine: Machine,
    helpers: &Helpers,
    cores: [usize; 2],
    priority: &Priority,
) -> Result<Results> {
    let [transmit, receive] = cores;
    let mut conditions = vec![
        format!(
            "Medians of {} rounds in which all cases took turns; each case on a veth pair of its \
             own, offloads off; {:?} of warm-up, then {:?}.",
            options.rounds,
            std::time::Duration::from_nanos(window::WARM_UP.as_ns()),
            std::time::Duration::from_nanos(window::LENGTH.as_ns()),
        ),
        format!("Senders run on core {transmit}, receivers on core {receive}; {}.", priority.note),
        "Process time is user and system time of the processes measured; the kernel's softirq \
         time is that of the whole machine. Where the kernel does not account for interrupts \
         apart, softirqs that ran on top of a process are in both: do not add them."
            .into(),
    ];
    if options.wants(subject::Subject::XdpTrafficgen) && helpers.preload()?.is_some() {
        conditions.push(
            "xdp-trafficgen cannot start on this kernel by itself: a preload leaves out tracing \
             that the kernel lacks and lengthens the frame that it probes with. Its frames have 66 \
             bytes, the only size it has."
                .into(),
        );
    }
    Ok(Results {
        machine,
        conditions,
        transmit_only: vec![],
        transmit_receive: vec![],
        memif: vec![],
        queues: vec![],
        pacing: vec![],
        spinning: vec![],
        frame_building: vec![],
        verdicts: vec![],
        left_out: options.without.clone(),
        failures: vec![],
    })
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory)
            .map_err(system(format!("create {}", directory.display())))?;
    }
    std::fs::write(path, text).map_err(system(format!("write {}", path.display())))
}
