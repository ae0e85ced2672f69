//! netblt.h says what the library has: the same functions, numbers and sizes.

use netanvil_netblt::status::NetbltStatus;
use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words that begin with `netblt_` and stand before a bracket.
fn functions<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.match_indices("netblt_").filter(|(at, _)| text[..*at].ends_with(before));
    let words = words.map(|(at, _)| {
        let rest = &text[at..];
        rest.split_at(rest.find(|c| !part(c)).unwrap_or(rest.len()))
    });
    words.filter(|(_, after)| after.starts_with('(')).map(|(name, _)| name).collect()
}

/// A C text without its comments.
fn code(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, after)| after))
}

#[test]
fn header_and_library_have_the_same_functions() {
    let header = code(&read("include/netblt.h"));
    let declared = functions(&header, "");
    let sources = ["options", "server", "status", "transfer"];
    let sources = sources.map(|name| read(&format!("src/{name}.rs"))).concat();
    let defined = functions(&sources, "extern \"C\" fn ");
    assert!(declared.len() > 20, "{declared:?}");
    assert_eq!(declared, defined);
    for name in defined {
        // Whoever reads the header learns of all of them in words.
        let line = header.lines().find(|line| line.contains(&format!("{name}("))).unwrap();
        let text = read("include/netblt.h");
        let at = text.find(line).unwrap();
        let above = text[..at].trim_end();
        assert!(above.ends_with("*/"), "{name} has no comment");
    }
}

#[test]
fn header_and_library_have_the_same_numbers() {
    let header = code(&read("include/netblt.h"));
    let number = |name: &str| -> i32 {
        let line = header.lines().find(|line| line.contains(&format!("{name} = ")));
        let line = line.unwrap_or_else(|| panic!("no {name}"));
        let digits = line.split(" = ").nth(1).unwrap();
        digits.trim_end().trim_end_matches(',').parse().unwrap()
    };
    let all = [
        ("OK", NetbltStatus::Ok),
        ("INVALID_ARGUMENT", NetbltStatus::InvalidArgument),
        ("UNKNOWN_HOST", NetbltStatus::UnknownHost),
        ("SOCKET", NetbltStatus::Socket),
        ("CANNOT_READ", NetbltStatus::CannotRead),
        ("CANNOT_WRITE", NetbltStatus::CannotWrite),
        ("EXISTS", NetbltStatus::Exists),
        ("NOT_TRUSTED", NetbltStatus::NotTrusted),
        ("NO_ANSWER", NetbltStatus::NoAnswer),
        ("OTHER_KEY", NetbltStatus::OtherKey),
        ("REFUSED", NetbltStatus::Refused),
        ("SILENT", NetbltStatus::Silent),
        ("PEER_GAVE_UP", NetbltStatus::PeerGaveUp),
        ("GAVE_UP", NetbltStatus::GaveUp),
        ("CANCELLED", NetbltStatus::Cancelled),
        ("SYSTEM", NetbltStatus::System),
        ("DEFECT", NetbltStatus::Defect),
    ];
    let (numbers, _) = header.split_once("} netblt_status;").expect("the numbers");
    assert_eq!(numbers.matches(" = ").count(), all.len(), "each is looked at");
    for (name, status) in all {
        assert_eq!(number(&format!("NETBLT_{name}")), status as i32, "{name}");
    }
    use netanvil_netblt::options::{NETBLT_COMPETING, NETBLT_FIXED, NETBLT_SCAVENGING};
    assert_eq!(number("NETBLT_COMPETING"), NETBLT_COMPETING);
    assert_eq!(number("NETBLT_SCAVENGING"), NETBLT_SCAVENGING);
    assert_eq!(number("NETBLT_FIXED"), NETBLT_FIXED);
}
