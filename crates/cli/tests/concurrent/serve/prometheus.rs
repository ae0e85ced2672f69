//! What a real Prometheus makes of `/metrics`, and whether the dashboard finds what it shows.

use super::client::{Events, get};
use super::server::{Server, wait_for};
use crate::common::Scratch;
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    fn start(scratch: &Scratch, target: &str) -> Prometheus {
        let address = TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a port")
            .to_string();
        let example =
            std::fs::read_to_string(extras().join("prometheus.yml")).expect("the example");
        let config = example
            .replace("127.0.0.1:2544", target)
            .replace("scrape_interval: 5s", "scrape_interval: 200ms");
        assert!(config.contains(target) && config.contains("200ms"), "{config}");
        let config = scratch.file("prometheus.yml", &config);
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", scratch.path().join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus");
        let prometheus = Prometheus { child, address };
        wait_for("Prometheus", || std::net::TcpStream::connect(&prometheus.address).ok());
        // It listens before it answers.
        let ready = || get(&prometheus.address, "/-/ready", &[]).status == 200;
        wait_for("a ready Prometheus", || ready().then_some(()));
        prometheus
    }

    /// What a query comes to now.
    fn query(&self, expression: &str) -> Vec<Value> {
        self.ask("query", expression, "")
    }

    /// Whether a panel would show a number: a search, say, has bounds for a part of a run only, and a quotient of
    /// nothing is a series, too.
    fn has_number(&self, expression: &str) -> bool {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_secs();
        let span = format!("&start={}&end={now}&step=1", now - 300);
        let series = self.ask("query_range", expression, &span);
        let points = series.iter().flat_map(|one| one["values"].as_array().expect("points"));
        let values = points.map(|point| point[1].as_str().expect("a value").parse::<f64>());
        values.map(|value| value.expect("a number")).any(f64::is_finite)
    }

    #[track_caller]
    fn ask(&self, how: &str, expression: &str, more: &str) -> Vec<Value> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reply = get(&self.address, &format!("/api/v1/{how}?query={encoded}{more}"), &[]).json();
        assert_eq!(reply["status"], "success", "{expression}: {reply}");
        reply["data"]["result"].as_array().expect("a result").clone()
    }

    fn value(&self, expression: &str) -> Option<f64> {
        self.query(expression).first()?["value"][1].as_str()?.parse().ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn extras() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extras/grafana")
}

/// The queries of the dashboard, as Grafana would send them for all runs.
fn expressions() -> Vec<String> {
    let text = std::fs::read_to_string(extras().join("netanvil.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let expressions = targets.map(|target| target["expr"].as_str().expect("a query").to_owned());
    expressions.map(|text| text.replace("$run", ".*").replace("$__rate_interval", "10s")).collect()
}

#[test]
fn prometheus_scrapes_a_run_and_every_query_of_the_dashboard_has_numbers() {
    if !super::has_program(
        "prometheus",
        "prometheus_scrapes_a_run_and_every_query_of_the_dashboard_has_numbers",
    ) {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let prometheus = Prometheus::start(&scratch, &server.address);
    // It begins to scrape some seconds after its start; a search may be over by then.
    wait_for("a healthy target", || prometheus.value("up").filter(|up| *up == 1.0));
    // Trials of so many frames that a search lasts longer than a step of a query.
    let id = server.run("run --sim router --profile rfc --duration 4s --line-rate 100M");
    let all = expressions();
    assert!(all.len() >= 12, "{all:?}");
    for expression in &all {
        wait_for(expression, || prometheus.has_number(expression).then_some(()));
    }
    server.post(&format!("/api/runs/{id}/stop"), &serde_json::json!({}));
    server.end_of(&id);
    wait_for("the end", || prometheus.value("netanvil_running").filter(|running| *running == 0.0));
    // What Prometheus has is what the record has.
    let told = Events::of(&server.address, &id, None).until("run_finished");
    let trials: Vec<&Value> =
        told.iter().map(|event| &event.data).filter(|data| data["kind"] == "trial").collect();
    let sum = |name: &str| trials.iter().map(|trial| trial[name].as_f64().unwrap()).sum::<f64>();
    let timed: f64 = trials.iter().filter_map(|trial| trial["latency"]["frames"].as_f64()).sum();
    for (expression, expected) in [
        ("netanvil_sent_frames_total", sum("sent_frames")),
        ("netanvil_received_frames_total", sum("received_frames")),
        ("netanvil_lost_frames", sum("lost_frames")),
        ("sum(netanvil_trials_total)", trials.len() as f64),
        ("netanvil_latency_seconds_count", timed),
        ("netanvil_latency_seconds_bucket{le=\"+Inf\"}", timed),
    ] {
        wait_for(expression, || prometheus.value(expression).filter(|value| *value == expected));
    }
}

#[test]
fn promtool_finds_nothing_to_mend() {
    if !super::has_program("promtool", "promtool_finds_nothing_to_mend") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run("traffic --sim router --rate 150kpps --duration 5s");
    Events::of(&server.address, &id, None).until("summary");
    let text = server.get("/metrics").text();
    assert!(text.contains("netanvil_lost_frames{") && text.contains("kind=\"traffic\""), "{text}");
    // promtool reads the older text format: no end mark, and a counter is declared by its full name.
    let plain: String = text
        .lines()
        .filter(|line| *line != "# EOF")
        .map(|line| match line.split_whitespace().nth(2) {
            Some(name)
                if line.starts_with('#') && text.contains(&format!("# TYPE {name} counter")) =>
            {
                line.replacen(name, &format!("{name}_total"), 1) + "\n"
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let file = scratch.file("metrics", &plain);
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(file).expect("a file"))
        .output()
        .expect("promtool");
    let said = String::from_utf8_lossy(&checked.stderr).into_owned()
        + &String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && said.is_empty(), "{said}");
}
