//! The table of `docs/otg.md` is what the pinned specification says is served. `NETANVIL_BLESS=1` writes it.
#![allow(clippy::disallowed_methods)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- table: begin -->\n";
const END: &str = "<!-- table: end -->";

/// Schemas of answers have no part in what a request may ask for: those that are called so, or begin so.
const ANSWERS: [&str; 12] = [
    "ControlActionResponse",
    "Error",
    "MetricsResponse",
    "StatesResponse",
    "FlowMetric",
    "PortMetric",
    "Bgpv4Metric",
    "Bgpv6Metric",
    "BgpPrefixesState",
    "BgpPrefixIpv4UnicastState",
    "BgpPrefixIpv6UnicastState",
    "Version",
];
const ANSWERS_BEGIN: [&str; 2] = ["ActionResponse", "Result"];

fn table(document: &Value) -> String {
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let schemas: BTreeMap<&String, &Value> = schemas.iter().collect();
    let mut table = String::from("| object | honoured | refused |\n|---|---|---|\n");
    for (name, schema) in schemas {
        let is_answer = ANSWERS.contains(&name.as_str())
            || ANSWERS_BEGIN.iter().any(|begin| name.starts_with(begin));
        if name.starts_with("Pattern") || is_answer {
            continue;
        }
        let properties = schema["properties"].as_object().unwrap();
        let words = |refused: bool| {
            let all =
                properties.iter().filter(|(_, kind)| kind.get("x-not-served").is_some() == refused);
            let names: Vec<String> = all.map(|(name, _)| format!("`{name}`")).collect();
            names.join(", ")
        };
        let _ = writeln!(table, "| {name} | {} | {} |", words(false), words(true));
    }
    table
}

#[test]
fn the_documented_table_is_the_pinned_specification() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/otg.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the table begins");
    let (told, after) = rest.split_once(END).expect("the table ends");
    let table = table(&serde_json::from_str(&otg::schema::SPECIFICATION).unwrap());
    if std::env::var_os("NETANVIL_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(told, table, "NETANVIL_BLESS=1 cargo test -p netanvil-otg --test table");
}
