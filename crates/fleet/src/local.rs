//! A campaign on this host: jobs as child processes of this program, as many at a time as their needs allow.
//!
//! A child's standard input is its leash: when this process goes, however it goes, the child stops as with Ctrl-C
//! and keeps what it has. The next time the campaign is run, that run is gone on with.

use crate::description::Needs;
use crate::folder::{self, CampaignFolder, State};
use crate::history;
use crate::job::Job;
use crate::record::{Origin, RunRecord};
use crate::store::{Ingested, Store, StoreError};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often children are looked at.
const LOOK: Duration = Duration::from_millis(10);
/// A child that was asked to stop has so long.
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// The child of a killed campaign has so long to end.
const LEFT_OVER_WITHIN: Duration = Duration::from_secs(60);
/// Processors, by the name of what jobs need.
pub const CORES: &str = "cores";

/// A campaign that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Something that a job needs is not here.
    #[error("{job} needs {count} x `{name}`; this host has {has}")]
    Needs {
        /// Which job.
        job: String,
        /// What.
        name: String,
        /// How many.
        count: u32,
        /// How many there are.
        has: u32,
    },
    /// A file or a process.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a campaign runs with.
#[derive(Debug)]
pub struct Local {
    /// The program that runs jobs: this one.
    pub program: PathBuf,
    /// Where files that the description names are.
    pub base: PathBuf,
    /// What this host has.
    pub has: Needs,
    /// Jobs that failed before are tried again.
    pub retry_failed: bool,
    /// Becomes true when the campaign is to stop.
    pub stop: Arc<AtomicBool>,
}

/// What a job came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Ending {
    /// Its figures are in the database.
    Done {
        /// Exit code of its run; `None` where the run was complete already.
        exit_code: Option<i32>,
        /// Where its run is.
        folder: PathBuf,
    },
    /// It failed as often as it may.
    Failed {
        /// The last time, for this reason.
        why: String,
    },
}

/// What happens while a campaign runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A job ended for good.
    Ended(&'a Job, &'a Ending),
    /// An attempt failed, and the job is tried again.
    Again(&'a Job, &'a str),
}

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Jobs of the description.
    pub jobs: usize,
    /// Those whose figures were in the database before.
    pub done_before: usize,
    /// Those whose figures came in.
    pub done: usize,
    /// Those among them in which an acceptance criterion failed.
    pub not_accepted: usize,
    /// Those among them that have no result for a test, since the tester was the limit.
    pub invalid: usize,
    /// Those that failed, by identity, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Those that were not begun or not ended, since the campaign was stopped.
    pub left: usize,
}

struct Running {
    job: Job,
    attempt: PathBuf,
    child: Child,
    began: Instant,
    /// Since when it is to stop, and why.
    stopping: Option<(Instant, Why)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    TooLong,
    Stopped,
}

/// A job that waits: for its turn, or for the child of a killed campaign.
struct Waiting {
    job: Job,
    since: Instant,
}

struct Campaign<'a> {
    local: &'a Local,
    folder: &'a CampaignFolder,
    store: &'a mut Store,
    progress: &'a mut dyn FnMut(Progress<'_>),
    free: Needs,
    waiting: VecDeque<Waiting>,
    running: Vec<Running>,
    /// Attempts that failed before this program was started and do not count any more.
    forgiven: BTreeMap<String, usize>,
    /// Series that have become longer.
    longer: BTreeSet<String>,
    summary: Summary,
}

impl Local {
    /// Runs what is left of a campaign.
    ///
    /// # Errors
    /// If this host lacks what a job needs, or files, processes or the database fail. What was done is kept.
    pub fn run(
        &self,
        jobs: &[Job],
        folder: &CampaignFolder,
        store: &mut Store,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Summary, LocalError> {
        jobs.iter().try_for_each(|job| self.check(job))?;
        let mut done = BTreeSet::new();
        for campaign in jobs.iter().map(|job| &*job.campaign).collect::<BTreeSet<_>>() {
            done.extend(store.jobs(campaign)?);
        }
        let now = Instant::now();
        let left = jobs.iter().filter(|job| !done.contains(&job.id)).cloned();
        let waiting: VecDeque<Waiting> = left.map(|job| Waiting { job, since: now }).collect();
        let before = jobs.len() - waiting.len();
        let summary = Summary { jobs: jobs.len(), done_before: before, ..Summary::default() };
        let free = self.has.clone();
        let forgiven = BTreeMap::new();
        let running = vec![];
        let mut campaign = Campaign {
            local: self,
            folder,
            store,
            progress,
            free,
            waiting,
            running,
            forgiven,
            longer: BTreeSet::new(),
            summary,
        };
        if self.retry_failed {
            campaign.forgive();
        }
        let ended = campaign.go_on();
        if ended.is_err() {
            campaign.stop_all();
        }
        ended?;
        let Campaign { longer, summary, .. } = campaign;
        if !self.stop.load(Ordering::SeqCst) {
            history::look_for_changes(store, &longer)?;
        }
        Ok(summary)
    }

    fn check(&self, job: &Job) -> Result<(), LocalError> {
        for (name, count) in self.needs(job) {
            let has = self.has.get(&name).copied().unwrap_or(0);
            if count > has {
                return Err(LocalError::Needs { job: job.in_words(), name, count, has });
            }
        }
        Ok(())
    }

    /// What a job takes while it runs. One that measures in real time has all processors, unless it says how many
    /// it needs: two at once would take them from each other.
    fn needs(&self, job: &Job) -> Needs {
        let mut needs = job.needs.clone();
        let all = self.has.get(CORES).copied().unwrap_or(1);
        needs.entry(CORES.into()).or_insert(if job.is_simulated { 1 } else { all });
        needs
    }
}

impl Campaign<'_> {
    fn forgive(&mut self) {
        for waiting in &self.waiting {
            let attempts = self.folder.attempts(&waiting.job);
            let failed = attempts.iter().filter(|it| matches!(it.state, State::Failed(_)));
            self.forgiven.insert(waiting.job.id.clone(), failed.count());
        }
    }

    fn go_on(&mut self) -> Result<(), LocalError> {
        loop {
            if self.local.stop.load(Ordering::SeqCst) {
                self.summary.left += self.waiting.len();
                self.waiting.clear();
                for running in &mut self.running {
                    running.ask_to_stop(Why::Stopped);
                }
            }
            self.start()?;
            self.look()?;
            if self.waiting.is_empty() && self.running.is_empty() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Starts the jobs that have room, in their order.
    fn start(&mut self) -> Result<(), LocalError> {
        if self.free.get(CORES) == Some(&0) {
            return Ok(());
        }
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { return Ok(()) };
            let needs = self.local.needs(&waiting.job);
            let has_room = needs.iter().all(|(name, count)| self.free.get(name) >= Some(count));
            if !has_room {
                self.waiting.push_back(waiting);
                continue;
            }
            self.begin(waiting)?;
        }
        Ok(())
    }

    /// Begins a job where it was left, or says what it has come to.
    fn begin(&mut self, waiting: Waiting) -> Result<(), LocalError> {
        let Waiting { job, since } = waiting;
        let attempts = self.folder.attempts(&job);
        let failed = attempts.iter().filter(|it| matches!(it.state, State::Failed(_))).count();
        let counted = failed - self.forgiven.get(&job.id).copied().unwrap_or(0).min(failed);
        let last = attempts.last();
        match last.map(|last| &last.state) {
            Some(State::Complete) => {
                let attempt = last.map(|last| last.path.clone()).unwrap_or_default();
                return self.keep(&job, &attempt, None);
            }
            Some(State::Failed(why)) if counted > job.retries as usize => {
                return self.end(&job, Ending::Failed { why: why.clone() });
            }
            _ => {}
        }
        // After a kill the child of the killed campaign may go on for a while, even one that saved nothing so far.
        if let Some(last) = last.filter(|last| !matches!(last.state, State::Failed(_)))
            && folder::is_held(&last.path)
            && since.elapsed() < LEFT_OVER_WITHIN
        {
            self.waiting.push_back(Waiting { job, since });
            return Ok(());
        }
        let attempt = match last {
            Some(last) if last.state == State::CutOff => last.path.clone(),
            _ => self.folder.begin(&job)?,
        };
        self.spawn(job, attempt)
    }

    fn spawn(&mut self, job: Job, attempt: PathBuf) -> Result<(), LocalError> {
        let run = folder::run_of(&attempt);
        let mut command = Command::new(&self.local.program);
        command.arg("run");
        match run.join(report::run_folder::EVENTS).exists() {
            true => command.arg("--resume").arg(&run),
            false => {
                command.arg("--config").arg(attempt.join("config.toml")).arg("--out").arg(&run)
            }
        };
        command.args(["--stdin-control", "--yes", "--quiet"]).current_dir(&self.local.base);
        let log = folder::open_log(&attempt)?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn()?;
        for (name, count) in self.local.needs(&job) {
            self.free.entry(name).and_modify(|free| *free -= count);
        }
        self.running.push(Running { job, attempt, child, began: Instant::now(), stopping: None });
        Ok(())
    }

    /// Looks at every child.
    fn look(&mut self) -> Result<(), LocalError> {
        let mut at = 0;
        while at < self.running.len() {
            let running = &mut self.running[at];
            running.mind_the_time();
            let Some(status) = running.child.try_wait()? else {
                at += 1;
                continue;
            };
            let running = self.running.swap_remove(at);
            for (name, count) in self.local.needs(&running.job) {
                self.free.entry(name).and_modify(|free| *free += count);
            }
            if status.code().is_none() {
                self.clean();
            }
            self.ended(running, status.code())?;
        }
        Ok(())
    }

    /// Removes namespaces, interfaces and locks of a child that could not do it itself.
    fn clean(&self) {
        let mut clean = Command::new(&self.local.program);
        // What cannot be removed now is told by `netanvil clean`, and by the run that finds it in its way.
        let _ = clean
            .arg("clean")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }

    fn ended(&mut self, running: Running, code: Option<i32>) -> Result<(), LocalError> {
        let Running { job, attempt, stopping, .. } = running;
        let is_complete =
            self.folder.attempts(&job).last().is_some_and(|last| last.state == State::Complete);
        match (is_complete, stopping.map(|(_, why)| why)) {
            (true, _) => self.keep(&job, &attempt, code),
            (false, Some(Why::Stopped)) => {
                self.summary.left += 1;
                Ok(())
            }
            (false, why) => {
                let why = match why {
                    Some(_) => format!("it took longer than {} s", job.timeout_s),
                    None => last_words(&attempt, code),
                };
                folder::fail(&attempt, &why)?;
                (self.progress)(Progress::Again(&job, &why));
                // Whether there is another attempt is decided where it begins.
                self.waiting.push_front(Waiting { job, since: Instant::now() });
                Ok(())
            }
        }
    }

    /// Takes a complete run into the database.
    fn keep(&mut self, job: &Job, attempt: &Path, code: Option<i32>) -> Result<(), LocalError> {
        let run = folder::run_of(attempt);
        match RunRecord::read(&run, &Origin::from(job)) {
            Ok(record) => {
                let _: Ingested = self.store.ingest(&record)?;
                let is_invalid = record.figures.iter().any(|figure| !figure.invalid.is_empty());
                self.summary.done += 1;
                self.summary.not_accepted += usize::from(code == Some(1));
                self.summary.invalid += usize::from(is_invalid);
                self.longer.extend(record.figures.into_iter().map(|figure| figure.series));
                let ending = Ending::Done { exit_code: code, folder: run };
                (self.progress)(Progress::Ended(job, &ending));
                Ok(())
            }
            Err(error) => {
                folder::fail(attempt, &error.to_string())?;
                self.waiting.push_front(Waiting { job: job.clone(), since: Instant::now() });
                Ok(())
            }
        }
    }

    fn end(&mut self, job: &Job, ending: Ending) -> Result<(), LocalError> {
        if let Ending::Failed { why } = &ending {
            self.summary.failed.insert(job.id.clone(), format!("{}: {why}", job.in_words()));
        }
        (self.progress)(Progress::Ended(job, &ending));
        Ok(())
    }

    /// Ends all children, when the campaign itself cannot go on.
    fn stop_all(&mut self) {
        for running in &mut self.running {
            running.ask_to_stop(Why::Stopped);
        }
        for running in &mut self.running {
            while matches!(running.child.try_wait(), Ok(None)) {
                running.mind_the_time();
                std::thread::sleep(LOOK);
            }
        }
    }
}

impl Running {
    fn ask_to_stop(&mut self, why: Why) {
        if self.stopping.is_none() {
            // The end of its standard input is Ctrl-C to it.
            drop(self.child.stdin.take());
            self.stopping = Some((Instant::now(), why));
        }
    }

    fn mind_the_time(&mut self) {
        if self.began.elapsed() > Duration::from_secs(self.job.timeout_s) {
            self.ask_to_stop(Why::TooLong);
        }
        if self.stopping.is_some_and(|(since, _)| since.elapsed() > STOP_WITHIN) {
            // That it has just ended is what was asked for.
            let _ = self.child.kill();
        }
    }
}

/// Why a run came to nothing, in its own words.
fn last_words(attempt: &Path, code: Option<i32>) -> String {
    let log = std::fs::read(attempt.join(folder::LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let error = log.lines().rev().find_map(|line| line.strip_prefix("error: "));
    match (error, code) {
        (Some(error), _) => error.to_owned(),
        (None, Some(code)) => format!("it ended with exit code {code} and without a complete run"),
        (None, None) => "it was killed".into(),
    }
}
