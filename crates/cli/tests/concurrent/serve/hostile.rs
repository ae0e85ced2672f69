//! Clients that send nonsense, too much, too often, or go away.

use super::client::{Events, get, post, reply, text};
use super::server::{Server, wait_for};
use crate::common::Scratch;
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;

/// Open files and resident memory of a process.
fn holds(pid: u32) -> (usize, u64) {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    (files, resident.trim().trim_end_matches(" kB").trim().parse().expect("a number"))
}

#[test]
fn malformed_requests_are_answered_with_what_is_wrong_and_what_to_send() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let json = ("Content-Type", "application/json");
    let cases: [(&[u8], u16, &str); 9] = [
        (b"", 400, "EOF"),
        (b"{", 400, "line 1 column 1"),
        (b"{\"command\": \"run", 400, "line 1"),
        (b"[\"run --sim router\"]", 400, "found a list"),
        (b"{\"comand\": \"run\"}", 400, "unknown field `comand`"),
        (b"{\"command\": 7}", 400, "expected a string"),
        (b"{\"command\": \"run\", \"command\": \"run\"}", 400, "duplicate field"),
        (b"\xff\xfe\x00", 400, "line 1"),
        (b"{\"command\": \"run --sim \\u0000\"}", 400, "NUL"),
    ];
    for (body, status, word) in cases {
        let refused = post(&server.address, "/api/runs", &[json], body);
        assert_eq!(refused.status, status, "{body:?}: {}", refused.text());
        assert!(
            refused.json()["error"].as_str().unwrap().contains(word),
            "{body:?}: {}",
            refused.text()
        );
        assert!(
            refused.json()["help"].as_str().unwrap().contains("run --device"),
            "{}",
            refused.text()
        );
    }
    let deep = "[".repeat(60_000);
    assert_eq!(post(&server.address, "/api/runs", &[json], deep.as_bytes()).status, 400);
    // Without the type a page from elsewhere could send it without being asked first.
    let plain = post(
        &server.address,
        "/api/runs",
        &[("Content-Type", "text/plain")],
        b"{\"command\": \"run --sim router\"}",
    );
    assert!(plain.status == 415 && plain.text().contains("application/json"), "{}", plain.text());
    for path in [
        "/nothing",
        "/runs/..%2F..%2Fetc%2Fpasswd/report.html",
        "/runs/x/passwd",
        "/api/runs/%2e%2e/events",
        "/api/runs/x/trials/y/balance",
    ] {
        let refused = server.get(path);
        assert!([400, 404].contains(&refused.status), "{path}: {}", refused.status);
    }
    // Whatever is refused says so in JSON, with what to write.
    for path in [
        "/compare",
        "/compare?before=a",
        "/api/runs/x/events?after=1&after=2",
        "/api/runs/x/trials/y/balance",
    ] {
        let refused = server.get(path);
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        let told = refused.json();
        assert!(told["error"].is_string() && told["help"].is_string(), "{path}: {told}");
    }
    for what in ["stop", "keys", "resume"] {
        let body = if what == "keys" { json!({ "keys": "p" }) } else { json!({}) };
        let refused = server.post(&format!("/api/runs/nope/{what}"), &body);
        assert_eq!(refused.status, 404, "{what}: {}", refused.text());
    }
    assert_eq!(get(&server.address, "/api/runs", &[]).status, 405);
    let odd = get(&server.address, "/api/runs/x/events", &[("Last-Event-ID", "-1")]);
    assert!(odd.status == 400 && odd.text().contains("Last-Event-ID"), "{}", odd.text());
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn a_body_of_100_megabytes_is_refused_and_takes_no_memory() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    server.get("/api/state");
    let (_, before) = holds(server.pid());
    let body = vec![b' '; 100_000_000];
    let refused =
        post(&server.address, "/api/runs", &[("Content-Type", "application/json")], &body);
    assert!(
        refused.status == 413 && refused.text().contains("65536 bytes"),
        "{} {}",
        refused.status,
        refused.text()
    );
    // The same without saying how long it is.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST /api/runs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..100 {
        let part = [b"f4240\r\n", &body[..1_000_000], b"\r\n"].concat();
        if stream.write_all(&part).is_err() {
            break;
        }
    }
    assert_eq!(reply(stream).status, 413);
    let (_, after) = holds(server.pid());
    assert!(after < before + 20_000, "{before} kB before, {after} kB after");
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn ten_thousand_requests_in_a_loop_leave_nothing_behind() {
    let scratch = Scratch::new();
    scratch
        .run("run --sim router --profile quick --test latency --sizes 64 --line-rate 10M --out runs/one")
        .expect(0);
    let server = Server::start(&scratch, "");
    let paths = [
        "/api/state",
        "/",
        "/metrics",
        "/runs/one/results.json",
        "/nothing",
        "/api/runs/one/trials/1/balance",
    ];
    let round = |count: usize| {
        for number in 0..count {
            let path = paths[number % paths.len()];
            let expected = if path == "/nothing" { 404 } else { 200 };
            let got = server.get(path);
            assert_eq!(got.status, expected, "{path}: {}", got.text());
        }
    };
    round(1_000);
    let (files, memory) = holds(server.pid());
    round(10_000);
    let after = wait_for("closed connections", || {
        Some(holds(server.pid())).filter(|now| now.0 <= files + 3)
    });
    assert!(after.1 < memory + 20_000, "{memory} kB before, {} kB after", after.1);
}

#[test]
fn clients_that_go_away_hurt_nobody_and_leave_nothing() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run("run --sim router --profile rfc --duration 50ms --line-rate 10M");
    let mut steady = Events::of(&server.address, &id, None);
    steady.until("trial");
    let (files, _) = holds(server.pid());
    for number in 0..50 {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = text(
            &server.address,
            "POST",
            "/api/runs",
            &[("Content-Type", "application/json")],
            1_000,
        );
        // In the head, in the body, in the stream.
        match number % 3 {
            0 => stream.write_all(&head.as_bytes()[..20]).unwrap(),
            1 => stream.write_all(format!("{head}{{").as_bytes()).unwrap(),
            _ => drop(Events::of(&server.address, &id, None).next()),
        }
    }
    steady.until("trial");
    wait_for("closed connections", || (holds(server.pid()).0 <= files + 3).then_some(()));
    assert_eq!(server.state_of(&id).as_deref(), Some("running"));
}

#[test]
fn pages_of_other_sites_cannot_drive_it() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let port = server.address.rsplit(':').next().unwrap();
    let body = b"{\"command\": \"run --sim router --profile rfc --duration 50ms --line-rate 10M\"}";
    let json = ("Content-Type", "application/json");
    let evil = format!("evil.example:{port}");
    for headers in [
        vec![json, ("Origin", "http://evil.example")],
        vec![json, ("Origin", "null")],
        vec![json, ("Host", &evil)],
        vec![json, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
    ] {
        let refused = post(&server.address, "/api/runs", &headers, body);
        assert_eq!(refused.status, 403, "{headers:?}: {}", refused.text());
        assert!(refused.json()["help"].is_string(), "{}", refused.text());
        assert_eq!(get(&server.address, "/api/state", &headers[1..]).status, 403);
    }
    assert_eq!(server.state()["runs"], serde_json::json!([]));
    // No answer allows another site to read it, and none can be shown in its frames.
    let page = server.get("/");
    assert_eq!(page.header("access-control-allow-origin"), None);
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert!(page.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
}

#[test]
fn other_hosts_come_with_tls_and_a_token_only() {
    let scratch = Scratch::new();
    scratch.file("token", "0123456789abcdef\n");
    crate::common::sh(&format!("chmod 600 {}", scratch.path().join("token").display()));
    for options in ["", "--token-file token"] {
        let refused = scratch.run(&format!("serve --listen 0.0.0.0:0 {options}")).expect(2);
        assert!(
            refused.stderr.contains("TLS and a token") && refused.stderr.contains("--tls-cert"),
            "{}",
            refused.stderr
        );
    }
    let refused = scratch.run("serve --listen [::]:0").expect(2);
    assert!(refused.stderr.contains("TLS and a token"), "{}", refused.stderr);
    crate::common::sh(&format!("chmod 644 {}", scratch.path().join("token").display()));
    let refused = scratch.run("serve --token-file token").expect(2);
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    let refused = scratch.run("serve --listen 198.51.100.1:1 --tls-cert a").expect(2);
    assert!(refused.stderr.contains("--tls-key"), "{}", refused.stderr);
    scratch
        .run("run --sim router --profile quick --test latency --sizes 64 --line-rate 10M --out one")
        .expect(0);
    let refused = scratch.run("serve --runs one").expect(2);
    assert!(refused.stderr.contains("it is a run itself"), "{}", refused.stderr);
}

/// The API of snappi's clients, below a path of the page's server and behind the same checks.
#[test]
fn the_otg_api_is_there_when_asked_for() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "--otg");
    let version = server.get("/otg/capabilities/version");
    assert!(
        version.status == 200 && version.text().contains("api_spec_version"),
        "{}",
        version.text()
    );
    let elsewhere = get(&server.address, "/otg/capabilities/version", &[("Host", "example.org")]);
    assert!((400..500).contains(&elsewhere.status), "{}", elsewhere.text());
    let without = Server::start(&scratch, "");
    assert_eq!(without.get("/otg/capabilities/version").status, 404);
    let refused = scratch.run("otg --listen 0.0.0.0:0").expect(2);
    assert!(refused.stderr.contains("--trust"), "{}", refused.stderr);
}
