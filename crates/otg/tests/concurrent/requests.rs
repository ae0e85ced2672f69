//! Requests that are wrong, too long, cut short or at once: clear errors, and nothing held afterwards.
#![allow(clippy::disallowed_methods)]

use crate::common::{Lab, engine, is_root};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use testbed::{DeviceKind, TestbedConfig};
use tower::ServiceExt;

fn ask(method: &str, path: &str, body: String) -> (StatusCode, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = Request::builder().method(method).uri(path).body(Body::from(body)).unwrap();
    runtime.block_on(async {
        let response = otg::router(engine()).oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    })
}

/// The errors of a configuration, which is refused before any port is opened.
pub fn errors(config: Value) -> Vec<String> {
    let (status, answer) = ask("POST", "/config", config.to_string());
    assert_eq!((status, &answer["code"]), (StatusCode::BAD_REQUEST, &json!(400)), "{answer}");
    assert_eq!(answer["kind"], "validation");
    serde_json::from_value(answer["errors"].clone()).unwrap()
}

/// A flow between two ports, with these properties too.
fn flow(more: Value) -> Value {
    let mut flow = json!({
        "name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_names": ["b"]}},
        "packet": [{"choice": "ethernet", "ethernet": {}}],
    });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "ports": [{"name": "a", "location": "no-such-1"}, {"name": "b", "location": "no-such-2"}],
        "flows": [flow],
    })
}

#[test]
fn each_error_names_its_place() {
    let cases = [
        (json!({"ports": [{}]}), "ports[0].name: Port needs it"),
        (json!({"prots": []}), "prots: Config has no property `prots`"),
        (json!({"lags": []}), "lags: netanvil does not support this; leave it out"),
        (json!({"ports": 5}), "ports: must be a list, not 5"),
        (json!([]), "the request: must be an object (Config)"),
        (
            flow(json!({"size": {"choice": "fixed", "fixed": "64"}})),
            "flows[0].size.fixed: must be an integer, not \"64\"",
        ),
        (
            flow(json!({"rate": {"choice": "pps", "pps": 0}})),
            "flows[0].rate.pps: must be 1 to 18446744073709551615, not 0",
        ),
        (
            flow(json!({"rate": {"choice": "pps", "bps": 1000}})),
            "flows[0].rate.bps: `choice` is `pps`: leave this out, or choose `bps`",
        ),
        (
            flow(json!({"packet": [{"choice": "cfm"}]})),
            "flows[0].packet[0].choice: netanvil does not support `cfm`",
        ),
        (
            flow(
                json!({"packet": [{"choice": "ethernet", "ethernet": {"src": {"choice": "value", "value": "02:00"}}}]}),
            ),
            "flows[0].packet[0].ethernet.src.value: must be a MAC address such as 02:00:00:00:00:01, not \"02:00\"",
        ),
        (
            flow(
                json!({"duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 1, "gap": 20}}}),
            ),
            "flows[0].duration.fixed_packets.gap: the gap follows from the rate; leave it out, or write 12",
        ),
        (
            flow(json!({"metrics": {"enable": true}, "size": {"choice": "fixed", "fixed": 40}})),
            "flows[0].size: a frame of 40 bytes; possible are 64 to 65535, FCS included",
        ),
        (flow(json!({"name": "a"})), "flows[0].name: there is another object called \"a\""),
        (
            flow(json!({"tx_rx": {"choice": "port", "port": {"tx_name": "c", "rx_names": ["b"]}}})),
            "flows[0].tx_rx.port.tx_name: there is no port `c`",
        ),
    ];
    for (config, expected) in cases {
        let errors = errors(config.clone());
        assert!(errors.iter().any(|error| error.starts_with(expected)), "{config}\n{errors:?}");
    }
}

#[test]
fn a_port_that_cannot_be_opened_is_named() {
    let (status, answer) = ask("POST", "/config", flow(json!({})).to_string());
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let error = answer["errors"][0].as_str().unwrap();
    assert!(
        error.starts_with("ports[0].location: ") && error.contains("no such interface"),
        "{error}"
    );
}

#[test]
fn bodies_paths_and_methods_that_are_wrong_get_the_models_error() {
    for (method, path, body, code) in [
        ("POST", "/config", "{", 400),
        ("POST", "/config", "", 400),
        ("POST", "/config", "\"\\ud800\"", 400),
        ("POST", "/control/state", "{}", 400),
        ("POST", "/monitor/metrics", "{}", 409),
        ("POST", "/monitor/metrics", "{\"choice\":\"isis\"}", 400),
        ("POST", "/control/action", "{\"choice\":\"protocol\"}", 400),
        ("GET", "/nothing", "", 404),
        ("DELETE", "/config", "", 405),
    ] {
        let (status, answer) = ask(method, path, body.into());
        assert_eq!(
            (status.as_u16(), &answer["code"]),
            (code, &json!(code)),
            "{method} {path} {body}: {answer}"
        );
        assert!(answer["errors"][0].is_string(), "{answer}");
    }
    let nested = "[".repeat(100_000);
    assert_eq!(ask("POST", "/config", nested).0, StatusCode::BAD_REQUEST);
}

#[test]
fn what_is_set_is_fetched_with_the_defaults_of_the_specification() {
    let checked = otg::schema::check("Config", flow(json!({}))).unwrap().value;
    let flow = &checked["flows"][0];
    assert_eq!(flow["size"], json!({"choice": "fixed", "fixed": 64}));
    assert_eq!(flow["rate"], json!({"choice": "pps", "pps": "1000"}));
    assert_eq!(flow["duration"]["choice"], "continuous");
    assert_eq!(flow["metrics"]["enable"], false);
    assert_eq!(flow["metrics"]["latency"], json!({"enable": false, "mode": "store_forward"}));
    // What clients write of properties that nobody asked for: not `true`, which would ask for it.
    let options = |on: bool| json!({"options": {"port_options": {"location_preemption": true, "data_integrity": on}}});
    let left = otg::schema::check("Config", options(false)).unwrap().value;
    assert_eq!(left["options"]["port_options"], json!({"location_preemption": true}));
    let told = otg::schema::check("Config", options(true)).unwrap_err();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("options.port_options.data_integrity: netanvil does not"),
        "{told:?}"
    );
    // Of 64 bits, as number and as text alike.
    for pps in [json!(5), json!("5")] {
        let rate = otg::schema::check("FlowRate", json!({"choice": "pps", "pps": pps})).unwrap();
        assert_eq!(rate.value["pps"], "5");
    }
}

/// Calls a method over gRPC: its status, and the text that comes with it.
fn call(method: &str, message: &[u8]) -> (String, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // A message is not compressed (0) and so long (gRPC over HTTP/2, Length-Prefixed-Message).
    let mut body = vec![0];
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message);
    let request = Request::builder().method("POST").uri(format!("/otg.Openapi/{method}"));
    let request =
        request.header("content-type", "application/grpc").body(Body::from(body)).unwrap();
    runtime.block_on(async {
        let response = otg::service(engine()).oneshot(request).await.unwrap();
        let header = |name: &str| {
            let value = response.headers().get(name).map(|value| value.to_str().unwrap());
            value.unwrap_or_default().to_owned()
        };
        (header("grpc-status"), header("grpc-message"))
    })
}

/// Messages byte by byte, as Protocol Buffers encodes them: a field's number and kind, a length, its bytes.
#[test]
fn what_is_wrong_over_grpc_gets_the_models_error() {
    // INVALID_ARGUMENT. The text is JSON, and percent-encoded in a header.
    let (status, told) = call("SetConfig", b"\xff\xff\xff");
    assert_eq!(status, "3", "{told}");
    assert!(told.contains("400") && told.contains("validation"), "{told}");
    // An object without what it needs: ports { }.
    let (status, told) = call("SetConfig", &[0x0a, 0x02, 0x0a, 0x00]);
    assert_eq!(status, "3");
    assert!(told.contains("ports[0].name"), "{told}");
    // FAILED_PRECONDITION: there is no configuration. choice flow is 2: MetricsRequest { choice }.
    let (status, told) = call("GetMetrics", &[0x0a, 0x02, 0x08, 0x02]);
    assert_eq!(status, "9", "{told}");
    // UNIMPLEMENTED is what such servers answer to a method that is not there.
    let (_, told) = call("NoSuchMethod", b"");
    assert_eq!(told, "");
}

/// A form that any page may send: without the header, the configuration would be taken.
#[test]
fn a_page_of_a_browser_may_not_drive_the_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (origin, status) in [
        (None, StatusCode::OK),
        (Some("http://evil.example"), StatusCode::FORBIDDEN),
        (Some("null"), StatusCode::FORBIDDEN),
    ] {
        let request = Request::builder().method("POST").uri("/config");
        let request = request.header("content-type", "text/plain");
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        let request = request.body(Body::from("{}")).unwrap();
        let response = runtime.block_on(otg::service(engine()).oneshot(request)).unwrap();
        assert_eq!(response.status(), status, "{origin:?}");
    }
}

fn http(lab: &Lab, head: &str) -> TcpStream {
    let address = lab.address;
    let stream = lab.testbed.tester().run(|| TcpStream::connect(address)).unwrap().unwrap();
    (&stream).write_all(head.as_bytes()).unwrap();
    stream
}

fn post(lab: &Lab, path: &str, body: &str) -> String {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = http(lab, &head);
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A body of 100 MB, clients that go away in the middle, and two that configure at once; afterwards the ports
/// can be had by anybody else.
#[test]
fn hostile_clients_hold_nothing() {
    if !is_root() {
        return;
    }
    let lab = Lab::build(&TestbedConfig::of(DeviceKind::LinuxBridge), true);
    let mut long =
        http(&lab, "POST /config HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n");
    let (piece, mut sent) = (vec![b' '; 1 << 20], 0);
    // The server may hang up when it has read enough.
    while sent < 100 && long.write_all(&piece).is_ok() {
        sent += 1;
    }
    let mut answer = vec![];
    let _ = long.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).to_string();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    for _ in 0..50 {
        drop(http(
            &lab,
            "POST /config HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{\"ports\": [",
        ));
    }
    let config = json!({"ports": [{"name": "a", "location": "tester0"}, {"name": "b", "location": "tester1"}]});
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| post(&lab, "/config", &config.to_string())));
        for client in both {
            let answer = client.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    });
    assert!(post(&lab, "/config", "{}").starts_with("HTTP/1.1 200"));
    let taken = lab.testbed.tester().run(|| {
        let interface = ports::Interface::open("tester0").unwrap();
        ports::PortLock::take("tester0", interface.index()).map(drop)
    });
    taken.unwrap().expect("the port is free");
}
