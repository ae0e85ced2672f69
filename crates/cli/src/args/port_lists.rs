//! `--ports eth1,eth2` as two options: a device of DPDK has commas of its own, so that only interfaces can be
//! in a list.

use std::ffi::OsString;

const FLAG: &str = "--ports";
/// After it, everything belongs to one port.
const WHOLE: &str = "dpdk:";

/// One option for each port of each list; all other words as they are.
pub fn one_a_port(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut split: Vec<OsString> = vec![];
    let mut words = arguments.into_iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                split.push(word);
                split.extend(words.by_ref());
            }
            Some(FLAG) => match words.next() {
                Some(list) => add(&mut split, list),
                None => split.push(word),
            },
            Some(text) => match text.strip_prefix("--ports=") {
                Some(list) => add(&mut split, list.into()),
                None => split.push(word),
            },
            None => split.push(word),
        }
    }
    split
}

fn add(split: &mut Vec<OsString>, list: OsString) {
    match list.to_str() {
        Some(text) if !text.starts_with(WHOLE) => {
            for port in text.split(',') {
                split.push(format!("{FLAG}={port}").into());
            }
        }
        // What is no text has no commas of ours.
        _ => split.extend([FLAG.into(), list]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> Vec<String> {
        let split = one_a_port(words.iter().map(OsString::from).collect());
        split.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_list_of_interfaces_is_an_option_for_each() {
        let both = ["run", "--ports=eth1", "--ports=xdp:eth2", "--yes"];
        assert_eq!(split(&["run", "--ports", "eth1,xdp:eth2", "--yes"]), both);
        assert_eq!(split(&["run", "--ports=eth1,xdp:eth2", "--yes"]), both);
        assert_eq!(split(&["run", "--far-ports", "a,b"]), ["run", "--far-ports", "a,b"]);
    }

    #[test]
    fn a_device_of_dpdk_is_one_port_with_all_of_its_arguments() {
        let memif = "dpdk:net_memif0,role=client,socket=/run/x.sock";
        assert_eq!(
            split(&["--ports", memif, "--ports", "eth1"]),
            ["--ports", memif, "--ports=eth1"]
        );
        assert_eq!(split(&["--ports=dpdk:0000:3b:00.0"]), ["--ports", "dpdk:0000:3b:00.0"]);
    }

    #[test]
    fn what_is_missing_or_behind_the_options_is_left_to_the_parser() {
        assert_eq!(split(&["run", "--ports"]), ["run", "--ports"]);
        assert_eq!(split(&["x", "--", "--ports", "a,b"]), ["x", "--", "--ports", "a,b"]);
    }
}
