//! Headless Chromium by its DevTools protocol, over a pipe: no port, no further library.

use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A browser with one page.
pub struct Browser {
    child: Child,
    orders: RefCell<ChildStdin>,
    answers: Receiver<Value>,
    number: Cell<u64>,
    session: RefCell<Option<String>>,
    /// What the page complained of.
    pub complaints: RefCell<Vec<String>>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens an address in a window of this width.
    #[track_caller]
    pub fn open(url: &str, width: u32) -> Browser {
        let profile = tempfile::tempdir().expect("a profile");
        // The browser reads orders from descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
                "sh",
                "--headless",
                "--no-sandbox",
            ])
            .args([
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--remote-debugging-pipe", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a browser");
        let orders = RefCell::new(child.stdin.take().expect("a pipe"));
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let texts = BufReader::new(stdout).split(0).map_while(Result::ok);
            for value in texts.filter_map(|text| serde_json::from_slice(&text).ok()) {
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let (number, session, complaints) = (Cell::new(0), RefCell::new(None), RefCell::default());
        let browser =
            Browser { child, orders, answers, number, session, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        *browser.session.borrow_mut() =
            Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(width);
        browser.call("Page.navigate", json!({ "url": url }));
        browser
    }

    pub fn resize(&self, width: u32) {
        let size = json!({ "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sends an order and gives its result.
    #[track_caller]
    pub fn call(&self, method: &str, parameters: Value) -> Value {
        let id = self.number.get() + 1;
        self.number.set(id);
        let mut order = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &*self.session.borrow() {
            order["sessionId"] = json!(session);
        }
        self.orders
            .borrow_mut()
            .write_all(format!("{order}\0").as_bytes())
            .expect("a browser that lives");
        loop {
            let answer = self
                .answers
                .recv_timeout(Duration::from_secs(60))
                .unwrap_or_else(|_| panic!("{method}: no answer"));
            self.hear(&answer);
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn hear(&self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => parameters["exceptionDetails"].to_string(),
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                parameters["entry"].to_string()
            }
            _ => return,
        };
        self.complaints.borrow_mut().push(complaint);
    }

    /// What an expression comes to in the page.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let give_up = Instant::now() + Duration::from_secs(240);
        // While a page is being loaded, there is nothing to ask.
        let guarded = format!(
            "(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        );
        while self.value(&guarded) != true {
            let page = || self.value("document.body.innerText");
            assert!(Instant::now() < give_up, "{expression}: not within 240 s in\n{}", page());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Saves what the window shows, the whole page long.
    pub fn picture(&self, file: &Path) {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let picture = self.call("Page.captureScreenshot", parameters);
        let mut command = Command::new("base64");
        command
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(file).expect("a file"));
        let mut decode = command.spawn().expect("base64");
        decode
            .stdin
            .take()
            .expect("a pipe")
            .write_all(picture["data"].as_str().expect("a picture").as_bytes())
            .expect("taken");
        assert!(decode.wait().expect("its end").success());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
