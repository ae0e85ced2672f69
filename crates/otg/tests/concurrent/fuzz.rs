//! schemathesis makes requests of the pinned specification, good ones and bad ones: none breaks the server, and each
//! answer has the form that the specification says. `make otg-fuzz` runs it; `NETANVIL_OTG_EXAMPLES` is how many requests of each kind.
#![allow(clippy::disallowed_methods)]

use crate::common::{engine, environment};
use otg::Server;
use std::process::Command;

const SCHEMATHESIS: &str = "schemathesis==4.32.5";

#[test]
#[ignore = "takes minutes; make otg-fuzz runs it"]
fn no_request_breaks_the_server() {
    let folder = environment("otg-schemathesis", SCHEMATHESIS);
    let server = Server::listen("127.0.0.1:0".parse().unwrap(), true).unwrap();
    let (address, ender, engine) = (server.address().unwrap(), server.ender(), engine());
    let serving = std::thread::spawn(move || server.run(&engine));
    let scratch = tempfile::tempdir().unwrap();
    let specification = scratch.path().join("otg.json");
    std::fs::write(&specification, otg::schema::SPECIFICATION).unwrap();
    let examples = std::env::var("NETANVIL_OTG_EXAMPLES").unwrap_or_else(|_| "8".into());
    let output = Command::new(folder.join("bin/schemathesis"))
        .current_dir(scratch.path())
        .args(["run", "--url", &format!("http://{address}"), "--max-examples", &examples])
        .args([
            "--checks",
            "not_a_server_error,response_schema_conformance,content_type_conformance",
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"])
        .arg(&specification)
        .output()
        .expect("start schemathesis");
    ender.end();
    serving.join().unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("generated"), "it made no requests\n{text}");
}
