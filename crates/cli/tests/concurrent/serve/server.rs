//! `netanvil serve` in the background.

use super::client::{Reply, get, post};
use crate::common::{Scratch, sh};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Waits until something is there; names it where it does not come.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < give_up, "{what}: not within 90 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server; it is stopped with Ctrl-C when it goes.
pub struct Server {
    child: Child,
    pub url: String,
    pub address: String,
}

impl Server {
    /// On a free port, with its runs in `runs` of the scratch folder.
    #[track_caller]
    pub fn start(scratch: &Scratch, options: &str) -> Server {
        Server::listening(scratch, &format!("--listen 127.0.0.1:0 {options}"))
    }

    #[track_caller]
    pub fn listening(scratch: &Scratch, options: &str) -> Server {
        let mut command = scratch.command(&format!("serve {options}"));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut url)
            .expect("an address");
        let url = url.trim().to_owned();
        let address =
            url.split('/').nth(2).unwrap_or_else(|| panic!("no address: {url:?}")).to_owned();
        Server { child, url, address }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn get(&self, path: &str) -> Reply {
        get(&self.address, path, &[])
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        post(
            &self.address,
            path,
            &[("Content-Type", "application/json")],
            body.to_string().as_bytes(),
        )
    }

    /// Starts a run and gives its name.
    #[track_caller]
    pub fn run(&self, command: &str) -> String {
        let reply = self.post("/api/runs", &json!({ "command": command }));
        assert!([201, 202].contains(&reply.status), "{command}: {} {}", reply.status, reply.text());
        reply.json()["id"].as_str().expect("a name").to_owned()
    }

    pub fn state(&self) -> Value {
        self.get("/api/state").json()
    }

    /// How far a run came.
    pub fn state_of(&self, id: &str) -> Option<String> {
        let state = self.state();
        let run = state["runs"].as_array()?.iter().find(|run| run["id"] == id)?;
        run["state"].as_str().map(str::to_owned)
    }

    /// Waits until the child of the server has gone, and gives how far its run came.
    #[track_caller]
    pub fn end_of(&self, id: &str) -> String {
        wait_for("the end of the run", || (self.state()["job"]["state"] == "ended").then_some(()));
        self.state_of(id).expect("a run")
    }

    /// Ends it as Ctrl-C does, and gives its exit code.
    pub fn stop(mut self) -> Option<i32> {
        sh(&format!("kill -INT {}", self.child.id()));
        self.child.wait().expect("its end").code()
    }

    /// Ends it without a chance to do anything.
    pub fn kill(mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("its end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().expect("a child").is_none() {
            sh(&format!("kill -INT {}", self.child.id()));
            let _ = self.child.wait();
        }
    }
}
