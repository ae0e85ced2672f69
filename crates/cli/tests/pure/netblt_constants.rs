//! The constants of the scavenging control, and the table of them in `docs/netblt-control.md`.

use std::collections::BTreeSet;
use std::path::Path;

/// Name and value of each constant before the tests of a file, as the table writes them.
fn constants(module: &str, source: &str) -> Vec<(String, String)> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().map(|line| line.trim_start_matches("pub "));
    let constants = lines.filter_map(|line| {
        let (name, rest) = line.strip_prefix("const ")?.split_once(':')?;
        let value = rest.split_once(" = ")?.1.trim_end_matches(';');
        let unit = |of: &str, unit: &str| {
            Some(format!("{} {unit}", value.strip_prefix(of)?.trim_end_matches(')')))
        };
        let duration = unit("Duration::from_secs(", "s").or(unit("Duration::from_ms(", "ms"));
        let name = if module == "mod" { name.into() } else { format!("{module}::{name}") };
        Some((name, duration.unwrap_or(value.into())))
    });
    constants.collect()
}

#[test]
fn the_table_has_each_with_its_value_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("netblt/protocol/src/control/scavenge");
    let mut in_code = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let module = file.file_stem().unwrap().to_str().unwrap();
        in_code.extend(constants(module, &std::fs::read_to_string(&file).unwrap()));
    }
    let page = std::fs::read_to_string(root.join("docs/netblt-control.md")).unwrap();
    let (_, section) = page.split_once("### Constants of the scavenging mode").unwrap();
    let table = section.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let in_table: BTreeSet<(String, String)> =
        rows.map(|(name, rest)| (name.into(), rest.split(" | ").next().unwrap().into())).collect();
    assert!(in_code.len() > 50, "{}", in_code.len());
    assert_eq!(in_code, in_table);
}
