//! Makes a run folder with a report from a simulated run, in virtual time:
//! `cargo run -p netanvil-report --example sample_report -- FOLDER`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use report::run_folder::{RunFolder, read_events};
use report::{Report, terminal};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("say which folder to make")?;
    let mut run = RunFolder::create_at(Path::new(&folder))?;
    sample::Sample::default().run(&mut run);
    let (events, notices) = read_events(run.path())?;
    let report = Report::from_events(&events, notices);
    report::save(run.path(), &report)?;
    let style = terminal::Style { width: None, colour: false };
    println!("{}", terminal::render(&report, style));
    Ok(())
}
