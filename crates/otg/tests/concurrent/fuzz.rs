//! schemathesis makes requests of the pinned specification, good ones and bad ones: none breaks the server, and each
//! answer has the form that the specification says. `make otg-fuzz` runs it: `NETANVIL_OTG_EXAMPLES` is how many requests
//! of each kind are made at a time, `NETANVIL_OTG_SECONDS` for how long, `NETANVIL_OTG_SEED` which they are.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common::{engine, environment};
use otg::Server;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// It ends by itself when its time is over; a request that is under way may take so long.
const LAST_REQUEST_WITHIN: Duration = Duration::from_secs(60);
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
    std::fs::write(&specification, otg::schema::SPECIFICATION.as_str()).unwrap();
    let set = |name: &str, otherwise: &str| std::env::var(name).unwrap_or(otherwise.into());
    let examples = set("NETANVIL_OTG_EXAMPLES", "8");
    let (seed, seconds) = (set("NETANVIL_OTG_SEED", "1"), set("NETANVIL_OTG_SECONDS", "60"));
    println!("seed {seed}, {seconds} s");
    let said = scratch.path().join("said");
    let begun = Instant::now();
    let mut child = Command::new(folder.join("bin/schemathesis"))
        .current_dir(scratch.path())
        .args(["run", "--url", &format!("http://{address}"), "--max-examples", &examples])
        .args([
            "--checks",
            "not_a_server_error,response_schema_conformance,content_type_conformance",
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--seed", &seed, "--max-time", &seconds])
        .arg("--no-color")
        .arg(&specification)
        .stdout(Stdio::from(File::create(&said).unwrap()))
        .spawn()
        .expect("start schemathesis");
    let limit = Duration::from_secs(seconds.parse().expect("NETANVIL_OTG_SECONDS is a number"));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begun.elapsed() > limit + LAST_REQUEST_WITHIN {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    ender.end();
    serving.join().unwrap().unwrap();
    let text = std::fs::read_to_string(&said).unwrap();
    let status = status.unwrap_or_else(|| panic!("seed {seed}: a request has no end\n{text}"));
    assert!(status.success(), "seed {seed}\n{text}");
    println!("{} s", begun.elapsed().as_secs());
    assert!(text.contains("generated"), "it made no requests\n{text}");
}
