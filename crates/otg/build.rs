//! Writes the types of the specification as Rust: a struct for each schema, an enum for each list of words.
//!
//! Patterns of header fields (value, values, increment, ...) have a schema for each field, all of one shape: they
//! become one type, `Pattern`, and this program fails if one has another shape. What is not served is left out.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs, path::Path};

const SPECIFICATION: &str = "spec/otg-1.62.0.json";
const DESCRIPTORS: &str = "spec/otg-1.62.0.binpb";
/// Schemas that begin an answer.
const ANSWERS: [&str; 6] =
    ["ControlActionResponse", "Error", "MetricsResponse", "StatesResponse", "Version", "Warning"];
const OF_PATTERN: [&str; 9] = [
    "choice",
    "value",
    "values",
    "increment",
    "decrement",
    "auto",
    "random",
    "generated",
    "custom",
];
const OF_COUNTER: [&str; 3] = ["start", "step", "count"];
const OF_RANDOM: [&str; 4] = ["min", "max", "seed", "count"];

fn main() {
    for file in [SPECIFICATION, DESCRIPTORS, "build.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let text = fs::read_to_string(SPECIFICATION).expect("the specification is in the package");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let schemas = document["components"]["schemas"].as_object().expect("it has schemas");
    let generator = Generator { schemas, answers: of_answers(schemas) };
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(Path::new(&out).join(name), bytes).expect("the output folder takes a file");
    };
    write("model.rs", generator.all().as_bytes());
    let packed = |bytes: &[u8]| miniz_oxide::deflate::compress_to_vec(bytes, 9);
    write("specification", &packed(text.as_bytes()));
    let descriptors = fs::read(DESCRIPTORS).expect("the descriptors are in the package");
    write("descriptors", &packed(&descriptors));
}

/// Schemas that only answers use: their properties are there or not, as whoever answers likes.
fn of_answers(schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut wanted: Vec<String> = ANSWERS.map(String::from).to_vec();
    while let Some(name) = wanted.pop() {
        if found.insert(name.clone()) {
            references(&schemas[&name], &mut wanted);
        }
    }
    found
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            into.extend(map.get("$ref").and_then(Value::as_str).map(last));
            map.values().for_each(|inner| references(inner, into));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, into)),
        _ => {}
    }
}

fn last(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or_default().to_owned()
}

struct Generator<'a> {
    schemas: &'a Map<String, Value>,
    answers: BTreeSet<String>,
}

impl Generator<'_> {
    fn all(&self) -> String {
        let mut code = String::new();
        for (name, schema) in self.schemas {
            let properties = schema["properties"].as_object().expect("a schema has properties");
            match name.starts_with("Pattern") {
                true => check_shape(name, properties),
                false => code += &self.structure(name, properties, schema),
            }
        }
        code
    }

    fn structure(&self, name: &str, properties: &Map<String, Value>, schema: &Value) -> String {
        let (mut fields, mut enums, mut patterns) = (String::new(), String::new(), String::new());
        let alternatives = alternatives(properties);
        for (property, kind) in properties {
            if kind.get("x-not-served").is_some() {
                continue;
            }
            let full = format!("{name}{}", camel(property));
            let rust = self.type_of(kind, &full, &mut enums);
            let is_list = rust.starts_with("Vec<");
            let is_sure = !self.answers.contains(name) && kind.get("default").is_some()
                || is_required(schema, property)
                || self.is_filled(name, kind);
            let is_optional = alternatives.contains(property.as_str()) || !is_sure && !is_list;
            let rust = if is_optional { format!("Option<{rust}>") } else { rust };
            let _ = write!(fields, "{}", field(property, &rust, kind));
            if rust == "Option<Pattern>" {
                let _ = write!(patterns, "(\"{property}\", self.{}.as_ref()),", escaped(property));
            }
        }
        let derive = "#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]";
        let mut code = format!(
            "/// `{name}` of the specification.\n{derive}\npub struct {name} {{\n{fields}}}\n"
        );
        if !patterns.is_empty() {
            let _ = writeln!(
                code,
                "impl Fields for {name} {{ fn fields(&self) -> Vec<(&'static str, Option<&Pattern>)> \
                 {{ vec![{patterns}] }} }}"
            );
        }
        code + &enums
    }

    /// Whether the check of a request puts an object in the place of one that is left out.
    fn is_filled(&self, name: &str, kind: &Value) -> bool {
        let Some(inner) = kind.get("$ref").and_then(Value::as_str).map(last) else { return false };
        let is_pattern = inner.starts_with("Pattern");
        let has_required = self.schemas[&inner].get("required").is_some();
        !is_pattern && !has_required && !self.answers.contains(name) && !is_header(name)
    }

    fn type_of(&self, kind: &Value, full: &str, enums: &mut String) -> String {
        if let Some(inner) = kind.get("$ref").and_then(Value::as_str).map(last) {
            return if inner.starts_with("Pattern") { "Pattern".into() } else { inner };
        }
        if kind.get("enum").is_some() {
            enums.push_str(&enumeration(full, kind));
            return full.to_owned();
        }
        match kind["type"].as_str().expect("a property has a type") {
            "array" => format!("Vec<{}>", self.type_of(&kind["items"], full, enums)),
            "boolean" => "bool".into(),
            "number" => "f64".into(),
            "string" => "String".into(),
            "integer" => match kind.get("format").and_then(Value::as_str) {
                Some("uint64") => "u64".into(),
                Some("uint32") => "u32".into(),
                Some("int32") => "i32".into(),
                other => panic!("{full}: an integer of format {other:?}"),
            },
            other => panic!("{full}: type {other}"),
        }
    }
}

/// Objects that stay out where they are left out: an absent header field is the sender's to choose.
fn is_header(name: &str) -> bool {
    let of_flow = ["FlowIpv4", "FlowIcmp", "FlowIcmpv6", "FlowHeader"];
    of_flow.iter().any(|header| name.starts_with(header))
}

fn is_required(schema: &Value, property: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|all| all.iter().any(|name| name == property))
}

/// Properties of which `choice` selects one.
fn alternatives(properties: &Map<String, Value>) -> BTreeSet<&str> {
    let choices = properties.get("choice").and_then(|choice| choice["enum"].as_array());
    let named: BTreeSet<&str> = choices.into_iter().flatten().filter_map(Value::as_str).collect();
    properties.keys().map(String::as_str).filter(|name| named.contains(name)).collect()
}

fn check_shape(name: &str, properties: &Map<String, Value>) {
    let known: &[&str] = match name {
        _ if name.ends_with("Counter") => &OF_COUNTER,
        _ if name.ends_with("Random") => &OF_RANDOM,
        _ => &OF_PATTERN,
    };
    for (property, kind) in properties {
        let is_known = known.contains(&property.as_str()) || kind.get("x-not-served").is_some();
        assert!(is_known, "{name}.{property}: no pattern has that");
    }
}

fn field(property: &str, rust: &str, kind: &Value) -> String {
    let mut attributes = String::new();
    if rust.starts_with("Option<") {
        attributes += "#[serde(default, skip_serializing_if = \"Option::is_none\")]";
    } else if rust.starts_with("Vec<") {
        attributes += "#[serde(default, skip_serializing_if = \"Vec::is_empty\")]";
    }
    if rust.contains("u64") {
        assert!(rust == "Option<u64>", "{property}: an integer of 64 bits that must be there");
        attributes += "#[serde(with = \"optional_u64\")]";
    }
    if property == "type" {
        attributes += "#[serde(rename = \"type\")]";
    }
    let status = kind.get("x-status").and_then(Value::as_str).unwrap_or_default();
    format!(
        "/// `{property}`. {}\n{attributes}\npub {}: {rust},\n",
        status.trim(),
        escaped(property)
    )
}

fn escaped(property: &str) -> String {
    if property == "type" { "kind".into() } else { property.to_owned() }
}

fn enumeration(full: &str, kind: &Value) -> String {
    let words = kind["enum"].as_array().expect("a list of words").iter().filter_map(Value::as_str);
    let default = kind.get("default").and_then(Value::as_str);
    let words: Vec<&str> = words.collect();
    let default = default.unwrap_or(words[0]);
    let mut code = format!(
        "/// Words of `{full}`.\n#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, \
         Deserialize)]\npub enum {full} {{\n"
    );
    for word in words {
        let marked = if word == default { "#[default] " } else { "" };
        let _ =
            writeln!(code, "/// `{word}`.\n#[serde(rename = \"{word}\")] {marked}{},", camel(word));
    }
    code + "}\n"
}

fn camel(name: &str) -> String {
    let parts = name.split(['_', '-']).map(|part| {
        let mut letters = part.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    });
    parts.collect()
}
