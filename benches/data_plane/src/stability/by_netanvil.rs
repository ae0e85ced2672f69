//! The throughput test of `make demo` at 64 bytes, run as a user would.

use super::spread::{Found, Measurement};
use crate::competitor::Arena;
use crate::error::{BenchError, Result, system};
use ports::clock;
use std::path::Path;
use std::process::Command;

/// Runs it once.
pub fn measure(netanvil: &Path, arena: &Arena<'_>) -> Result<Measurement> {
    let folder = arena.helpers.directory().join("stability");
    let _ = std::fs::remove_dir_all(&folder);
    let before = clock::now();
    let command = "run --device linux-router --profile quick --test throughput --sizes 64 --quiet";
    let output = Command::new(netanvil)
        .args(command.split(' '))
        .arg("--out")
        .arg(&folder)
        .output()
        .map_err(system(format!("run {} (make build)", netanvil.display())))?;
    let took = clock::now().since(before);
    // 3: no valid result.
    if !matches!(output.status.code(), Some(0 | 3)) {
        return Err(BenchError::Tool {
            tool: "netanvil".into(),
            what: format!("it ended with {}", output.status),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let path = folder.join("results.csv");
    let table =
        std::fs::read_to_string(&path).map_err(system(format!("read {}", path.display())))?;
    Ok(Measurement { found: throughput(&table), took })
}

/// The row of the throughput. A bracket is no rate.
fn throughput(table: &str) -> Found {
    let mut lines = table.lines();
    let titles: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    // Only `traffic`, in quotes, has commas of its own.
    let cells = |line: &str| -> Vec<String> {
        let parts: Vec<&str> = line.split('"').collect();
        let even = |(k, part): (usize, &&str)| match k % 2 {
            0 => part.to_string(),
            _ => part.replace(',', ";"),
        };
        let whole: String = parts.iter().enumerate().map(even).collect();
        whole.split(',').map(String::from).collect()
    };
    for line in lines {
        let cells = cells(line);
        let of = |title: &str| {
            let at = titles.iter().position(|name| *name == title);
            at.and_then(|at| cells.get(at)).map_or("", |cell| &cell[..])
        };
        if of("test") != "throughput" || of("quantity") != "throughput" {
            continue;
        }
        let value: Option<f64> = of("value").parse().ok();
        return match (of("relation"), value) {
            ("equal", Some(fps)) => Found::Rate(fps),
            ("at_least", Some(fps)) => Found::AtLeast(fps),
            _ => Found::Undecided,
        };
    }
    Found::Undecided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_is_undecided_and_a_comma_in_quotes_is_no_border() {
        let table = |relation: &str, value: &str| {
            format!(
                "test,traffic,quantity,value,relation\n\
                 self_test,\"UDP, one\",throughput,1,equal\n\
                 throughput,\"UDP, one\",throughput,{value},{relation}\n"
            )
        };
        assert_eq!(throughput(&table("equal", "812.5")), Found::Rate(812.5));
        assert_eq!(throughput(&table("at_least", "812.5")), Found::AtLeast(812.5));
        assert_eq!(throughput(&table("between", "")), Found::Undecided);
        assert_eq!(throughput("test,quantity\n"), Found::Undecided);
    }
}
