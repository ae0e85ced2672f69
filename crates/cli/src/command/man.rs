//! `netanvil man`: the manual pages, made from the same description as `--help`.

use crate::args::{self, Man};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use std::path::{Path, PathBuf};

pub fn run(arguments: &Man) -> Outcome {
    match &arguments.dir {
        Some(directory) => write_all(directory)?,
        None => output::print(&page(&args::command())?)?,
    }
    Ok(Exit::Done)
}

fn page(command: &clap::Command) -> Outcome<String> {
    let mut text = vec![];
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|error| Failure::new(format!("cannot write the manual page: {error}")))?;
    Ok(mended(&String::from_utf8_lossy(&text)))
}

/// The library leaves out an empty date, so that the name of the program stands in its place, knows no version of a
/// subcommand, and breaks a line twice around an empty one: man(7) has the date before the source, and `.sp`.
fn mended(page: &str) -> String {
    const TITLE_END: &str = concat!("1 \"\" \"netanvil ", env!("CARGO_PKG_VERSION"), "\"");
    let title = |line: &str| match line.strip_prefix(".TH ").and_then(|rest| rest.split_once(' ')) {
        Some((name, _)) => format!(".TH {name} {TITLE_END}"),
        None => line.to_owned(),
    };
    let lines: Vec<String> = page.lines().map(title).collect();
    (lines.join("\n") + "\n").replace("\n.br\n\n.br\n", "\n.sp\n")
}

/// `netanvil.1`, `netanvil-run.1`, ...
fn write_all(directory: &Path) -> Outcome<()> {
    let cannot = |error| {
        Failure::new(format!("cannot write manual pages to {}: {error}", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(cannot)?;
    clap_mangen::generate_to(args::command(), directory).map_err(cannot)?;
    let files: Vec<PathBuf> = std::fs::read_dir(directory)
        .and_then(|files| files.map(|file| Ok(file?.path())).collect())
        .map_err(cannot)?;
    for file in files.iter().filter(|file| is_own(file)) {
        let page = std::fs::read_to_string(file).map_err(cannot)?;
        std::fs::write(file, mended(&page)).map_err(cannot)?;
    }
    Ok(())
}

/// Other manual pages may stand in the same folder.
fn is_own(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("netanvil") && name.ends_with(".1")
}
