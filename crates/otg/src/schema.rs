//! Requests are checked against the specification before anything reads them: every property is known, has its
//! type and bounds, and is served; what is left out has its default. Each error names its place.

use serde_json::{Map, Value};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;
use wire::ethernet::MacAddr;

/// The specification, as it is pinned here.
pub static SPECIFICATION: LazyLock<String> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/specification"));
    String::from_utf8(unpack(packed)).expect("the build has read it")
});
/// Errors that are told of one request; more are counted.
const ERRORS_MAX: usize = 50;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&SPECIFICATION).expect("the build has read it"));

/// What the build has packed.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(packed).expect("the build has packed it")
}

/// A request as it is meant: with its defaults, and what the client should know.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The request, complete.
    pub value: Value,
    /// Deprecated properties that it uses.
    pub warnings: Vec<String>,
}

/// Checks a request against a schema of the specification.
///
/// # Errors
/// What is wrong, each with the path to it.
pub fn check(schema: &str, value: Value) -> Result<Checked, Vec<String>> {
    let mut check = Check { errors: vec![], hidden: 0, warnings: vec![] };
    let value = check.object(schema, value, "");
    if check.hidden > 0 {
        check.errors.push(format!("and {} more errors", check.hidden));
    }
    match check.errors.is_empty() {
        true => Ok(Checked { value, warnings: check.warnings }),
        false => Err(check.errors),
    }
}

struct Check {
    errors: Vec<String>,
    hidden: usize,
    warnings: Vec<String>,
}

fn schema_named(name: &str) -> &'static Value {
    &DOCUMENT["components"]["schemas"][name]
}

fn referred(kind: &Value) -> Option<&str> {
    kind.get("$ref")?.as_str()?.rsplit('/').next()
}

/// `flows[0].size`.
fn below(path: &str, property: &str) -> String {
    if path.is_empty() { property.to_owned() } else { format!("{path}.{property}") }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the request" } else { path }
}

impl Check {
    fn wrong(&mut self, path: &str, what: impl std::fmt::Display) {
        match self.errors.len() < ERRORS_MAX {
            true => self.errors.push(format!("{}: {what}", place(path))),
            false => self.hidden += 1,
        }
    }

    fn object(&mut self, name: &str, value: Value, path: &str) -> Value {
        let schema = schema_named(name);
        let Value::Object(given) = value else {
            self.wrong(path, format_args!("must be an object ({name})"));
            return Value::Null;
        };
        let properties = schema["properties"].as_object().expect("every schema has properties");
        let choice = self.choice(properties, &given, path);
        let mut complete = Map::new();
        for (property, value) in given {
            let path = below(path, &property);
            let Some(kind) = properties.get(&property) else {
                let nearest = nearest(&property, properties.keys());
                self.wrong(&path, format_args!("{name} has no property `{property}`{nearest}"));
                continue;
            };
            // As the client's own library has it: nothing was said.
            if value.is_null() {
                continue;
            }
            let is_refused = kind.get("x-not-served").is_some();
            // Clients write defaults of what nobody has asked for.
            if is_refused && kind.get("default") == Some(&value) {
                continue;
            }
            self.state_of(kind, &path);
            if is_refused {
                self.wrong(&path, "netanvil does not support this; leave it out");
                continue;
            }
            complete.insert(property, self.value(kind, value, &path));
        }
        self.complete(name, schema, (choice.as_deref(), path), &mut complete);
        Value::Object(complete)
    }

    /// Which alternative counts, where there are some; an error where another is there too.
    fn choice(
        &mut self,
        properties: &Map<String, Value>,
        given: &Map<String, Value>,
        path: &str,
    ) -> Option<String> {
        let of_choice = properties.get("choice")?;
        let words = of_choice["enum"].as_array()?;
        let chosen = match given.get("choice") {
            Some(Value::String(chosen)) => chosen.clone(),
            Some(_) => return None,
            None => of_choice.get("default")?.as_str()?.to_owned(),
        };
        let kind = properties.get(&chosen);
        if kind.is_some_and(|kind| kind.get("x-not-served").is_some())
            && !given.contains_key(&chosen)
        {
            let path = below(path, "choice");
            self.wrong(&path, format_args!("netanvil does not support `{chosen}`"));
        }
        let others = words.iter().filter_map(Value::as_str).filter(|word| *word != chosen);
        for other in others.filter(|word| given.get(*word).is_some_and(|value| !value.is_null())) {
            let path = below(path, other);
            self.wrong(
                &path,
                format_args!("`choice` is `{chosen}`: leave this out, or choose `{other}`"),
            );
        }
        Some(chosen)
    }

    fn state_of(&mut self, kind: &Value, path: &str) {
        if let Some(status) = kind.get("x-status").and_then(Value::as_str) {
            self.warnings.push(format!("{path}: {}", status.trim()));
        }
    }

    /// Defaults of what was left out, and an error for what may not be.
    fn complete(
        &mut self,
        name: &str,
        schema: &Value,
        (choice, path): (Option<&str>, &str),
        object: &mut Map<String, Value>,
    ) {
        let properties = schema["properties"].as_object().expect("every schema has properties");
        let words = properties.get("choice").and_then(|choice| choice["enum"].as_array());
        let is_alternative =
            |property: &str| words.is_some_and(|words| words.iter().any(|word| word == property));
        let required = schema.get("required").and_then(Value::as_array);
        for (property, kind) in properties {
            if object.contains_key(property) || kind.get("x-not-served").is_some() {
                continue;
            }
            let path = below(path, property);
            if required.is_some_and(|all| all.iter().any(|name| name == property)) {
                self.wrong(&path, format_args!("{name} needs it"));
            } else if is_alternative(property) && choice != Some(property) {
                continue;
            } else if let Some(default) = kind.get("default") {
                let default = self.value(kind, default.clone(), &path);
                object.insert(property.clone(), default);
            } else if let Some(inner) = referred(kind) {
                let has_required = schema_named(inner).get("required").is_some();
                // A header's field that is left out is the sender's to choose.
                let is_chosen = is_alternative(property);
                if is_chosen || !(inner.starts_with("Pattern") || has_required || is_header(name)) {
                    let empty = Value::Object(Map::new());
                    let complete = self.object(inner, empty, &path);
                    object.insert(property.clone(), complete);
                }
            } else if is_alternative(property) {
                self.wrong(&path, "`choice` names it: give its value");
            }
        }
    }

    fn value(&mut self, kind: &Value, value: Value, path: &str) -> Value {
        if let Some(name) = referred(kind) {
            return self.object(name, value, path);
        }
        match (kind["type"].as_str().unwrap_or_default(), value) {
            ("array", Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let checked = items
                    .map(|(at, item)| self.value(&kind["items"], item, &format!("{path}[{at}]")));
                Value::Array(checked.collect())
            }
            ("boolean", value @ Value::Bool(_)) => value,
            ("number", value) if number(&value).is_some() => {
                let number = number(&value).unwrap_or_default();
                self.bounds(kind, number, path);
                Value::from(number)
            }
            ("integer", value) => self.integer(kind, value, path),
            ("string", Value::String(text)) => {
                self.text(kind, &text, path);
                Value::String(text)
            }
            (expected, value) => {
                self.wrong(
                    path,
                    format_args!("must be {}, not {}", article(expected), brief(&value)),
                );
                value
            }
        }
    }

    fn integer(&mut self, kind: &Value, value: Value, path: &str) -> Value {
        let format = kind.get("format").and_then(Value::as_str).unwrap_or("int32");
        let number = match &value {
            Value::String(text) if format.ends_with("64") => text.parse::<i128>().ok(),
            Value::Number(number) => whole(number),
            _ => None,
        };
        let Some(number) = number else {
            let what = if format.ends_with("64") { " or the text of one" } else { "" };
            self.wrong(path, format_args!("must be an integer{what}, not {}", brief(&value)));
            return value;
        };
        let (least, most) = match format {
            "uint64" => (0, i128::from(u64::MAX)),
            "uint32" => (0, i128::from(u32::MAX)),
            "int64" => (i128::from(i64::MIN), i128::from(i64::MAX)),
            _ => (i128::from(i32::MIN), i128::from(i32::MAX)),
        };
        let bound = |key: &str| kind.get(key).and_then(Value::as_i64).map(i128::from);
        let (least, most) = (
            bound("minimum").unwrap_or(least).max(least),
            bound("maximum").unwrap_or(most).min(most),
        );
        if number < least || number > most {
            self.wrong(path, format_args!("must be {least} to {most}, not {number}"));
        }
        match format {
            "uint64" | "int64" => Value::String(number.to_string()),
            _ => i64::try_from(number).map_or(value, Value::from),
        }
    }

    fn bounds(&mut self, kind: &Value, number: f64, path: &str) {
        let bound = |key: &str| kind.get(key).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.wrong(path, format_args!("must be {least} or more, not {number}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.wrong(path, format_args!("must be {most} or less, not {number}"));
        }
    }

    fn text(&mut self, kind: &Value, text: &str, path: &str) {
        if let Some(words) = kind.get("enum").and_then(Value::as_array) {
            if !words.iter().any(|word| word == text) {
                let known: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                self.wrong(
                    path,
                    format_args!("must be one of {}, not {}", known.join(", "), quoted(text)),
                );
            }
            return;
        }
        let what = match kind.get("format").and_then(Value::as_str) {
            Some("mac") if text.parse::<MacAddr>().is_err() => {
                "a MAC address such as 02:00:00:00:00:01"
            }
            Some("ipv4") if text.parse::<Ipv4Addr>().is_err() => {
                "an IPv4 address such as 192.0.2.1"
            }
            // `::0` is how the specification writes the unspecified address.
            Some("ipv6") if text.parse::<Ipv6Addr>().is_err() => {
                "an IPv6 address such as 2001:db8::1"
            }
            Some("hex") if !is_hexadecimal(text) => "hexadecimal digits",
            _ => return,
        };
        self.wrong(path, format_args!("must be {what}, not {}", quoted(text)));
    }
}

/// As in the generator of the types.
fn is_header(name: &str) -> bool {
    let of_flow = ["FlowIpv4", "FlowIcmp", "FlowIcmpv6", "FlowHeader"];
    of_flow.iter().any(|header| name.starts_with(header))
}

fn is_hexadecimal(text: &str) -> bool {
    let digits = text.trim_start_matches("0x");
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// `5`, and `5.0` too, which some clients write.
fn whole(number: &serde_json::Number) -> Option<i128> {
    let exact = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    let is_whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9e15;
    exact.or_else(|| number.as_f64().filter(is_whole).map(|float| float as i128))
}

fn article(kind: &str) -> &'static str {
    match kind {
        "array" => "a list",
        "boolean" => "true or false",
        "number" => "a number",
        _ => "text",
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// Text of a client's, cut to a length that a line takes.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// `; did you mean ...`, where a known name is near.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let near = known.filter(|known| {
        let shared = known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        shared >= 3 && known.len().abs_diff(name.len()) <= 3
    });
    near.take(1).map(|known| format!("; did you mean `{known}`?")).collect()
}

/// The pattern that the specification gives a header field, of a schema of ours, that a request leaves out.
pub(crate) fn default_pattern(schema: &str, field: &str) -> crate::model::Pattern {
    let kind = &schema_named(schema)["properties"][field];
    let name = referred(kind).expect("a header's field is a pattern");
    let complete = check(name, Value::Object(Map::new())).expect("a pattern has defaults").value;
    serde_json::from_value(complete).expect("a checked pattern has the generated type")
}
