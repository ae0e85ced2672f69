//! The run that was started here: a child process of the same program, one at a time.
//!
//! Its standard input is its leash. Keys go through it, and its end is Ctrl-C: when this process goes, however
//! it goes, the child stops, keeps its results and gives its ports back.

use crate::feed::Feeds;
use crate::folder::{Folder, TRAFFIC, is_written, record};
use crate::refusal::Refusal;
use serde::Serialize;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of standard error that are kept.
const LOG_LINES: usize = 200;
/// After its end the last words of a child may take so long.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A child that was asked to stop has so long, when the server ends.
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// Options that say where the record goes, which is said here.
const RESERVED: [(&str, &str); 6] = [
    ("--out", "the run gets a folder among the others"),
    ("--resume", "a run that was cut off is resumed with POST /api/runs/ID/resume"),
    ("--json", "the record is JSON"),
    ("--quiet", "nothing is printed"),
    ("--print-config", "run it in a shell"),
    ("--stdin-control", "this server has it"),
];

/// What a child came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs.
    Running,
    /// It was asked to stop, and has not yet.
    Stopping,
    /// It ended.
    Ended,
}

/// What a page is told of a child.
#[derive(Clone, Debug, Serialize)]
pub struct JobEntry {
    /// The name of its folder.
    pub id: String,
    /// As it was asked for.
    pub command: String,
    /// Whether it takes keys.
    pub takes_keys: bool,
    /// How far it came.
    pub state: JobState,
    /// The exit code; of a child that was killed, none.
    pub exit_code: Option<i32>,
    /// The last lines that it printed on standard error.
    pub log: Vec<String>,
}

/// A child.
#[derive(Debug)]
pub struct Job {
    id: String,
    command: String,
    is_traffic: bool,
    folder: PathBuf,
    program: PathBuf,
    child: Mutex<Child>,
    leash: Mutex<Option<ChildStdin>>,
    log: Mutex<VecDeque<String>>,
    ended: Mutex<Option<ExitStatus>>,
    was_killed: AtomicBool,
}

/// A command that is run beside its page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnCommand {
    /// As in a shell, without the program and without what says where the record goes.
    pub words: Vec<String>,
    /// Name of its folder in the folder of runs; one of its time and device where there is none.
    pub name: Option<String>,
}

/// What was asked for, in words.
#[derive(Debug)]
pub struct Order {
    words: Vec<String>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Order {
    /// Its arguments with those by which it is stopped and leaves its record in this folder, and its standard output:
    /// `otherwise` where the record is none of that.
    fn recorded_at(&self, path: &Path, otherwise: Stdio) -> Result<(Vec<String>, Stdio), String> {
        let mut arguments = self.words.clone();
        arguments.push("--stdin-control".into());
        if self.is_traffic() {
            arguments.push("--json".into());
            let record = traffic_record(path);
            let record =
                record.map_err(|error| format!("cannot make {}: {error}", path.display()))?;
            return Ok((arguments, record));
        }
        arguments.extend(["--out".into(), path.to_string_lossy().into_owned()]);
        Ok((arguments, otherwise))
    }

    /// Of a command line, such as `run --device linux-router --profile quick`.
    pub fn parse(line: &str) -> Result<Order, Refusal> {
        let bad = |error: String| {
            Refusal::bad(error)
                .help("write, for example: run --device linux-router --profile quick")
        };
        let mut words =
            shlex::split(line).ok_or_else(|| bad("a quotation mark has no end".into()))?;
        if words.first().is_some_and(|word| word == "netanvil") {
            words.remove(0);
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(bad("the command contains a NUL character".into()));
        }
        match words.first().map(String::as_str) {
            Some("run" | "traffic") => {}
            Some(other) => {
                return Err(bad(format!("{other:?} cannot be started here; run and traffic can")));
            }
            None => return Err(bad("the command is empty".into())),
        }
        for word in &words {
            let name = word.split('=').next().unwrap_or(word);
            if let Some((name, why)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
                return Err(Refusal::bad(format!("{name} cannot be given here: {why}"))
                    .help(format!("leave out {name}")));
            }
        }
        Ok(Order { words })
    }

    fn is_traffic(&self) -> bool {
        self.words[0] == "traffic"
    }

    /// What is tested, for the name of the folder.
    fn subject(&self) -> String {
        let after = |name: &str| {
            let joined = self.words.iter().find_map(|word| word.strip_prefix(&format!("{name}=")));
            let place = self.words.iter().position(|word| word == name);
            joined.or_else(|| self.words.get(place? + 1).map(String::as_str)).map(str::to_owned)
        };
        let subject = ["--device", "--sim", "--ports"].iter().find_map(|name| after(name));
        let subject = subject.unwrap_or_else(|| "device".into());
        if self.is_traffic() { format!("traffic-{subject}") } else { subject }
    }
}

impl Job {
    fn state(&self) -> JobState {
        match (*lock(&self.ended), lock(&self.leash).is_some()) {
            (Some(_), _) => JobState::Ended,
            (None, true) => JobState::Running,
            (None, false) => JobState::Stopping,
        }
    }

    /// What a page is told of it.
    pub fn entry(&self) -> JobEntry {
        JobEntry {
            id: self.id.clone(),
            command: self.command.clone(),
            takes_keys: self.is_traffic,
            state: self.state(),
            exit_code: self.exit_code(),
            log: lock(&self.log).iter().cloned().collect(),
        }
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.state() == JobState::Ended
    }

    /// Why it came to nothing, in its own words.
    pub fn failure(&self) -> Refusal {
        let log = lock(&self.log);
        let of = |name: &str| -> Vec<String> {
            log.iter().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect()
        };
        let (errors, mut helps) = (of("error: "), of("help: "));
        if helps.is_empty() {
            let rest = log
                .iter()
                .map(|line| line.trim())
                .filter(|line| !line.is_empty() && !line.starts_with("error: "));
            helps = rest.map(str::to_owned).collect();
        }
        let error = if errors.is_empty() {
            "the command ended without a run".into()
        } else {
            errors.join("; ")
        };
        Refusal::bad(error).help(helps.join("; "))
    }

    fn busy(&self) -> Refusal {
        Refusal::conflict(format!(
            "{} is running: two at once would take each other's processors",
            self.id
        ))
        .help("stop it, or wait for its end")
    }

    /// Sends keys, as to a terminal.
    pub fn press(&self, keys: &str) -> Result<(), Refusal> {
        if !self.is_traffic {
            return Err(Refusal::conflict("a run takes no keys")
                .help("stop it and resume it later instead of a pause"));
        }
        let gone = || Refusal::conflict(format!("{} has ended or is stopping", self.id));
        let mut leash = lock(&self.leash);
        let pipe = leash.as_mut().ok_or_else(gone)?;
        pipe.write_all(keys.as_bytes()).and_then(|()| pipe.flush()).map_err(|_| gone())
    }

    /// Its exit code, once it has ended; none of one that was killed.
    pub fn exit_code(&self) -> Option<i32> {
        lock(&self.ended).and_then(|status| status.code())
    }

    /// Asks it to stop, as Ctrl-C does.
    pub fn stop(&self) {
        drop(lock(&self.leash).take());
    }

    /// Kills it; what it leaves is removed when it has gone.
    pub fn kill(&self) {
        self.stop();
        let mut child = lock(&self.child);
        if lock(&self.ended).is_none() {
            self.was_killed.store(true, Ordering::SeqCst);
            // That it has just ended is what was asked for.
            let _ = child.kill();
        }
    }

    /// Waits for its end and for its last words, which `reader` takes in; from a thread of its own.
    fn watch(&self, reader: &JoinHandle<()>) {
        let status = loop {
            match lock(&self.child).try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break Some(status),
                Err(error) => {
                    self.say(format!("error: cannot wait for it: {error}"));
                    break None;
                }
            }
            std::thread::sleep(LOOK);
        };
        // What it has started may hold on to its standard error.
        let give_up = Instant::now() + LAST_WORDS;
        while !reader.is_finished() && Instant::now() < give_up {
            std::thread::sleep(LOOK);
        }
        if status.is_none_or(|status| status.code().is_none()) {
            self.clean();
        }
        if self.is_traffic
            && fs::metadata(self.folder.join(TRAFFIC)).is_ok_and(|file| file.len() == 0)
        {
            // Nothing was sent. A folder that cannot be removed is listed as what it is; one that was there before may hold
            // anything.
            let _ = fs::remove_file(self.folder.join(TRAFFIC));
            let _ = fs::remove_dir(&self.folder);
        }
        drop(lock(&self.leash).take());
        *lock(&self.ended) = Some(status.unwrap_or_default());
    }

    /// Removes namespaces, interfaces and locks of a child that could not do it itself.
    fn clean(&self) {
        let cleaned = Command::new(&self.program).arg("clean").stdin(Stdio::null()).output();
        match cleaned {
            Ok(output) if output.status.success() => {
                self.say("killed; `netanvil clean` removed what was left".into())
            }
            Ok(output) => self.say(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => self.say(format!("error: cannot run `netanvil clean`: {error}")),
        }
    }

    fn say(&self, line: String) {
        let mut log = lock(&self.log);
        if log.len() == LOG_LINES {
            log.pop_front();
        }
        log.push_back(line);
    }
}

/// Children of this process.
pub struct Jobs {
    program: PathBuf,
    latest: Mutex<Option<Arc<Job>>>,
    closed: AtomicBool,
}

impl Jobs {
    pub fn new(program: PathBuf) -> Self {
        Jobs { program, latest: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// The one that runs, or ran last.
    pub fn latest(&self) -> Option<Arc<Job>> {
        lock(&self.latest).clone()
    }

    /// The one of this name, which can be stopped here.
    pub fn of(&self, id: &str, folder: &Folder) -> Result<Arc<Job>, Refusal> {
        let ended = || Refusal::conflict(format!("{id} has ended"));
        // It may have no record yet.
        if let Some(job) = self.latest().filter(|job| job.id == id) {
            return if job.has_ended() { Err(ended()) } else { Ok(job) };
        }
        match record(&folder.find(id)?).is_some_and(|(_, file)| is_written(&file)) {
            true => Err(Refusal::conflict(format!("{id} was not started here"))
                .help("press Ctrl-C where it was started")),
            false => Err(ended()),
        }
    }

    /// Starts a run or traffic.
    pub fn start(&self, order: &Order, folder: &Folder) -> Result<Arc<Job>, Refusal> {
        // Before a folder is made; `spawn` asks again, and then it counts.
        if let Some(job) = self.latest().filter(|job| !job.has_ended()) {
            return Err(job.busy());
        }
        let runs = folder
            .make()
            .map_err(|error| Refusal::broken(format!("cannot make the folder of runs: {error}")))?;
        let (id, path) = vacant(runs, &order.subject());
        let (arguments, stdout) =
            order.recorded_at(&path, Stdio::null()).map_err(Refusal::broken)?;
        self.spawn((id, path), order, &arguments, (stdout, Stdio::piped()))
    }

    /// Starts the command of a program that shows its own page: a folder of its own if it names one, and the terminal
    /// for what it prints.
    pub fn start_own(&self, own: &OwnCommand, folder: &Folder) -> Result<Arc<Job>, Refusal> {
        let runs = folder
            .make()
            .map_err(|error| Refusal::broken(format!("cannot make the folder of runs: {error}")))?;
        let order = Order { words: own.words.clone() };
        let (id, path) = match &own.name {
            Some(name) => (name.clone(), folder.path_of(name)?),
            None => vacant(runs, &order.subject()),
        };
        let (arguments, stdout) =
            order.recorded_at(&path, Stdio::inherit()).map_err(Refusal::conflict)?;
        self.spawn((id, path), &order, &arguments, (stdout, Stdio::inherit()))
    }

    /// Goes on with a run that was cut off.
    pub fn resume(&self, id: &str, path: &Path) -> Result<Arc<Job>, Refusal> {
        if record(path).is_some_and(|(_, file)| is_written(&file)) {
            return Err(Refusal::conflict(format!("{id} is running")));
        }
        let words =
            ["run", "--resume", &path.to_string_lossy(), "--stdin-control"].map(str::to_owned);
        let order = Order { words: vec!["run".into(), "--resume".into(), id.into()] };
        let printed = (Stdio::null(), Stdio::piped());
        self.spawn((id.into(), path.to_owned()), &order, &words, printed)
    }

    fn spawn(
        &self,
        (id, folder): (String, PathBuf),
        order: &Order,
        arguments: &[String],
        (stdout, stderr): (Stdio, Stdio),
    ) -> Result<Arc<Job>, Refusal> {
        let mut latest = lock(&self.latest);
        let busy = latest.as_ref().filter(|job| !job.has_ended());
        if let Some(job) = busy {
            return Err(job.busy());
        }
        if self.closed.load(Ordering::SeqCst) {
            return Err(Refusal::conflict("this server is ending"));
        }
        let spawned = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr)
            .spawn();
        let mut child = spawned.map_err(|error| {
            Refusal::broken(format!("cannot start {}: {error}", self.program.display()))
        })?;
        let (leash, stderr) = (child.stdin.take(), child.stderr.take());
        let job = Arc::new(Job {
            id,
            command: shlex::try_join(order.words.iter().map(String::as_str)).unwrap_or_default(),
            is_traffic: order.is_traffic(),
            folder,
            program: self.program.clone(),
            child: Mutex::new(child),
            leash: Mutex::new(leash),
            log: Mutex::default(),
            ended: Mutex::default(),
            was_killed: AtomicBool::new(false),
        });
        *latest = Some(job.clone());
        let (reader, watcher) = (job.clone(), job.clone());
        let reader = std::thread::spawn(move || {
            let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n'));
            lines
                .map_while(Result::ok)
                .for_each(|line| reader.say(String::from_utf8_lossy(&line).into_owned()));
        });
        std::thread::spawn(move || watcher.watch(&reader));
        Ok(job)
    }

    /// Waits until a record has more lines than `before`, or its run came to nothing; false where neither happened within that time.
    pub async fn begins(
        &self,
        job: &Job,
        feeds: &Feeds,
        before: usize,
        within: Duration,
    ) -> Result<bool, Refusal> {
        let give_up = Instant::now() + within;
        loop {
            let ended = job.has_ended();
            let feed = feeds.open(job.id(), job.folder());
            if let Some(feed) = feed.filter(|feed| feed.lines() > before) {
                feeds.keep(feed);
                return Ok(true);
            }
            if ended {
                return Err(job.failure());
            }
            if Instant::now() > give_up {
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Stops what runs, and returns when it has ended.
    pub fn end(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let Some(job) = self.latest() else { return };
        job.stop();
        let give_up = Instant::now() + STOP_WITHIN;
        while !job.has_ended() {
            if Instant::now() > give_up && !job.was_killed.load(Ordering::SeqCst) {
                job.kill();
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Standard output of traffic, locked for as long as it is open there.
fn traffic_record(folder: &Path) -> std::io::Result<Stdio> {
    fs::create_dir_all(folder)?;
    let file = File::options().append(true).create_new(true).open(folder.join(TRAFFIC))?;
    // The lock is the child's, too: it lasts as long as one of us has the file open.
    file.try_lock()?;
    Ok(file.into())
}

/// A name that no run has: time and subject.
fn vacant(runs: &Path, subject: &str) -> (String, PathBuf) {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let base = report::run_folder::folder_name(subject, now);
    let names = (1..)
        .map(|number: u32| if number == 1 { base.clone() } else { format!("{base}-{number}") });
    let mut vacant =
        names.map(|name| (name.clone(), runs.join(name))).filter(|(_, path)| !path.exists());
    vacant.next().unwrap_or_else(|| (base.clone(), runs.join(&base)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_run_or_traffic_and_says_nothing_of_the_record() {
        let order = Order::parse("netanvil run --device 'linux-router' --set \"a=b c\"").unwrap();
        assert_eq!(order.words, ["run", "--device", "linux-router", "--set", "a=b c"]);
        assert_eq!((order.subject(), order.is_traffic()), ("linux-router".into(), false));
        assert_eq!(
            Order::parse("traffic --sim=router --rate 1kpps").unwrap().subject(),
            "traffic-router"
        );
        for bad in [
            "",
            "  ",
            "netanvil",
            "versus --a-do 'rm -rf /'",
            "sh -c true",
            "run 'a",
            "run --out /tmp/x",
            "run --out=/tmp/x",
            "run --resume x",
            "traffic --json",
        ] {
            assert!(Order::parse(bad).is_err(), "{bad:?}");
        }
    }

    fn child(script: &str) -> (tempfile::TempDir, Jobs, Folder, Result<Arc<Job>, Refusal>) {
        use std::os::unix::fs::PermissionsExt;
        let runs = tempfile::tempdir().unwrap();
        let program = runs.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (jobs, folder) = (Jobs::new(program), Folder::new(runs.path().join("runs")).unwrap());
        let job = jobs.start(&Order::parse("traffic --sim x").unwrap(), &folder);
        (runs, jobs, folder, job)
    }

    fn wait(job: &Job) {
        let give_up = Instant::now() + Duration::from_secs(20);
        while !job.has_ended() {
            assert!(Instant::now() < give_up, "{:?}", job.entry());
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn keys_reach_a_child_and_the_end_of_its_input_stops_it() {
        let (_runs, jobs, folder, job) =
            child("while read -r key; do echo \"{\\\"key\\\":\\\"$key\\\"}\"; done; exit 7");
        let job = job.unwrap();
        job.press("p\n").unwrap();
        let second = jobs.start(&Order::parse("traffic --sim y").unwrap(), &folder).unwrap_err();
        assert!(format!("{second:?}").contains("is running"));
        assert_eq!(
            fs::read_dir(folder.make().unwrap()).unwrap().count(),
            1,
            "nothing is left of the second"
        );
        assert_eq!(folder.list().len(), 1);
        job.stop();
        wait(&job);
        assert_eq!((job.entry().state, job.entry().exit_code), (JobState::Ended, Some(7)));
        let record = fs::read_to_string(job.folder().join(TRAFFIC)).unwrap();
        assert_eq!(record, "{\"key\":\"p\"}\n");
        assert!(job.press("p").is_err());
    }

    #[test]
    fn a_child_that_comes_to_nothing_says_why_and_leaves_nothing() {
        let (_runs, _jobs, folder, job) = child(
            "(sleep 0.3; echo 'error: no such thing'; echo 'help: write another') >&2 & exit 2",
        );
        let job = job.unwrap();
        wait(&job);
        let failure = format!("{:?}", job.failure());
        assert!(
            failure.contains("no such thing") && failure.contains("write another"),
            "{failure}"
        );
        assert_eq!(folder.list(), vec![]);
    }

    #[test]
    fn a_child_that_does_not_stop_is_killed_and_cleaned_up_after() {
        let (_runs, jobs, _folder, job) = child(
            "[ \"$1\" = clean ] && exit 0; echo '{}'; trap '' TERM; sleep 1000 & wait; sleep 1000",
        );
        let job = job.unwrap();
        job.stop();
        assert_eq!(job.state(), JobState::Stopping);
        job.kill();
        wait(&job);
        assert_eq!(job.entry().exit_code, None);
        assert!(
            job.entry().log.iter().any(|line| line.contains("`netanvil clean` removed")),
            "{:?}",
            job.entry()
        );
        jobs.end();
    }
}
