//! `netanvil netblt send`, `recv` and `test`: one transfer with a server.

use super::args::{Output, Recv, Send, Test, Transfer};
use super::outcome::{TransferReport, shown};
use super::parameters::{carrier, failure, options, tell_readable_key};
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt::{self, Signalled};
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use netblt::{Ending, Mode};
use netblt_client::address::resolve;
use netblt_client::follow::{Followed, Following, QUIT_PATIENCE, Wanted};
use netblt_client::{Error, place};
use netblt_io::files::{self, Wish};
use std::io::IsTerminal;
use std::path::Path;

const TRUSTED_PATH: &str = "note: nothing is encrypted; the path to the other end is trusted";

pub fn send(arguments: &Send) -> Outcome {
    let file = &arguments.file;
    let own_name = file.file_name().and_then(|name| name.to_str());
    let name = arguments.name.as_deref().or(own_name).ok_or_else(|| {
        Failure::new("the file has no name to send it under").help("give one with --as NAME")
    })?;
    let send = if arguments.plain { files::send_plain } else { files::send };
    let wish = send(file, name)
        .map_err(|error| Failure::new(format!("cannot send {}: {error}", file.display())))?;
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

pub fn receive(arguments: &Recv) -> Outcome {
    let own_name = Path::new(&arguments.name).file_name().map(Path::new);
    let out = arguments.out.as_deref().or(own_name).ok_or_else(|| {
        Failure::new("the file has no name to keep it under").help("give one with --out FILE")
    })?;
    let (directory, local_name) =
        place(out).map_err(|error| Failure::new(format!("{}: {error}", out.display())))?;
    let receive = if arguments.plain { files::receive_plain } else { files::receive };
    let wish = receive(directory, local_name, &arguments.name, arguments.overwrite)
        .map_err(|error| failure(Error::CannotWrite { path: out.to_owned(), error }))?;
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

pub fn test(arguments: &Test) -> Outcome {
    let mode = if arguments.read { Mode::Read } else { Mode::Write };
    let wish = files::memory(mode, arguments.bytes);
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

fn run(host: &str, transfer: &Transfer, shown: &Output, wish: Wish) -> Outcome {
    let peer = resolve(host, carrier(transfer.raw_ip)).map_err(failure)?;
    let options = options(transfer)?;
    let following = Following::open(&options, peer, wish).map_err(failure)?;
    if options.seal.is_none() && !shown.quiet {
        output::say(TRUSTED_PATH);
    }
    tell_readable_key(&transfer.sealing);
    let signalled = interrupt::watch_twice()?;
    let followed = follow(following, shown, &signalled)?;
    let report = TransferReport::opened_here(&followed);
    match shown.json {
        true => output::print_json(&report)?,
        false => output::print(&report.text())?,
    }
    match followed.ended.outcome.is_complete() {
        true => Ok(Exit::Done),
        false => Err(incomplete(followed, signalled.at_once())),
    }
}

/// What arrived is worth mentioning only if something did, and was a file's, and is still there.
fn incomplete(followed: Followed, at_once: bool) -> Failure {
    let (peer, outcome) = (shown(followed.ended.peer), followed.ended.outcome.clone());
    let kept = followed.kept_bytes().is_some_and(|bytes| bytes > 0);
    let what = match followed.unheard {
        Some(error @ Error::OtherKey { .. }) => return failure(error),
        Some(_) if at_once => "was interrupted at once; the other end may not know".to_owned(),
        Some(_) => format!(
            "was interrupted; the other end did not confirm within {} s that it knows",
            QUIT_PATIENCE.as_secs()
        ),
        None if followed.stopped => "was interrupted".to_owned(),
        None => format!("failed: {outcome}"),
    };
    let failure = Failure::new(format!("the transfer with {peer} {what}"));
    match (outcome, kept) {
        (Ending::NoAnswer, _) => failure.help("is `netanvil netblt serve` running there?"),
        (_, true) => failure.help("what arrived is kept; the same command goes on where it broke"),
        (_, false) => failure,
    }
}

/// Turns the transfer until it is over, dally included.
fn follow(mut following: Following, shown: &Output, signalled: &Signalled) -> Outcome<Followed> {
    let bar = bar(shown);
    let followed = following.watch(&mut |progress| {
        if let Some(progress) = progress {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
            bar.set_message(format!("{} again", progress.repeated_packets));
        }
        let stop = signalled.stop().then_some("interrupted");
        Wanted { stop, at_once: signalled.at_once(), at_most_bps: None }
    });
    let followed = followed.map_err(failure)?;
    following.linger_while(|| !signalled.stop());
    bar.finish_and_clear();
    Ok(followed)
}

fn bar(shown: &Output) -> ProgressBar {
    if shown.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left, {msg}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
