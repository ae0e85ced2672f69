//! What `-h` prints: the options of every day, and where the others are. `--help` prints all.

use clap::Command;

/// Commands that repeat what others did decades ago stand in a group of their own.
const HISTORY: [&str; 3] = ["hammer", "anvil", "harvard"];

/// Commands with many options, and those that `-h` shows.
const SHORT: [(&str, &[&str]); 4] = [
    (
        "run",
        &[
            "suite",
            "device",
            "sim",
            "ports",
            "address",
            "gateway",
            "profile",
            "test",
            "sizes",
            "bidirectional",
            "protocol",
            "vlan",
            "duration",
            "accept",
            "config",
            "resume",
            "yes",
            "out",
            "json",
            "wide",
            "help",
        ],
    ),
    (
        "traffic",
        &[
            "device",
            "sim",
            "ports",
            "address",
            "gateway",
            "rate",
            "duration",
            "sizes",
            "bidirectional",
            "flows",
            "vary",
            "streams",
            "otg",
            "pcap",
            "vlan",
            "fail_if",
            "json",
            "quiet",
            "help",
        ],
    ),
    (
        "selftest",
        &["suite", "ports", "port_type", "sizes", "bidirectional", "cached", "json", "help"],
    ),
    (
        "versus",
        &[
            "device", "ports", "address", "gateway", "a", "b", "a_do", "b_do", "a_sim", "b_sim",
            "fail_if", "json", "help",
        ],
    ),
];
/// So many lines of examples stand below them.
const EXAMPLES: usize = 5;

/// The command line with short texts for `-h`.
pub fn shortened(command: Command) -> Command {
    let command = SHORT.into_iter().fold(command, |command, (name, shown)| {
        command.mut_subcommand(name, |subcommand| brief(subcommand, name, shown))
    });
    with_history_apart(command)
}

fn brief(command: Command, name: &str, shown: &[&str]) -> Command {
    let ids: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    let is_shown = |id: &&String| !shown.contains(&id.as_str());
    let hidden = ids.iter().filter(is_shown);
    let command =
        hidden.fold(command, |command, id| command.mut_arg(id, |arg| arg.hide_short_help(true)));
    let all = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples: Vec<&str> = all.lines().take(EXAMPLES).collect();
    let more = format!(
        "{}\n\n`netanvil {name} --help` lists all options and examples.",
        examples.join("\n")
    );
    command.after_help(more).after_long_help(all)
}

fn with_history_apart(command: Command) -> Command {
    let about = |name: &str| {
        let found = command.find_subcommand(name)?.get_about()?.to_string();
        Some(format!("  {name:<11}  {found}"))
    };
    let lines: Vec<String> = HISTORY.iter().filter_map(|name| about(name)).collect();
    let rest = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = format!(
        "History:\n{}\n  run SUITE    harvard-1989, harvard-1990, gigaswitch, tolly: campaigns as they were published\n\n{rest}",
        lines.join("\n")
    );
    let command = HISTORY.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| subcommand.hide(true))
    });
    command.after_help(text)
}
