//! Programs of others that a device needs, run inside its namespace: an SNMP agent, a routing daemon.

use crate::error::{Result, TestbedError};
use kernel::{KernelError, Namespace};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{
    Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio,
};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Where programs are, in whatever shell this was started.
const PATH: &str =
    "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/lib/openvswitch-switch-dpdk";

/// Where a program is; `None` where it is not installed. The user's own PATH comes last.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = PATH.split(':').map(PathBuf::from).chain(std::env::split_paths(&own));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A program of somebody else and how to get it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramName {
    /// Of the executable.
    pub program: &'static str,
    /// Package of Debian that has it.
    pub package: &'static str,
}

/// Has a program do what `input` says and end. Call it in the namespace that it concerns.
pub(crate) fn tell(name: ProgramName, arguments: &[&str], input: &str) -> Result<String> {
    let failed = |message| TestbedError::Program { program: name.program, message };
    let run = || -> std::io::Result<Output> {
        let mut child = Command::new(name.program)
            .args(arguments)
            .env("PATH", PATH)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // It reads all of its input before it says much, hence no deadlock.
        child.stdin.take().expect("piped").write_all(input.as_bytes())?;
        child.wait_with_output()
    };
    let output = run().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            failed(format!("not installed; `apt install {}`", name.package))
        }
        _ => failed(error.to_string()),
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// What starts a program that is to end with the thread that starts it.
fn command(name: ProgramName, wrappers: &[&str], arguments: &[&str]) -> Result<Command> {
    let path = find_program(name.program).ok_or_else(|| TestbedError::Program {
        program: name.program,
        message: format!("not installed; `apt install {}`", name.package),
    })?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).args(wrappers).arg(path).args(arguments);
    command.env("PATH", PATH);
    Ok(command)
}

/// The ends of a program's pipes.
pub(crate) struct Pipes {
    /// What it is told.
    pub input: ChildStdin,
    /// What it answers.
    pub output: ChildStdout,
    /// What it says of itself.
    pub errors: ChildStderr,
}

/// A running program. It ends with this value, and with this process however that ends: a killed run
/// would else leave it behind, and with it the namespace that it is in.
#[derive(Debug)]
pub struct Program {
    name: ProgramName,
    child: Child,
    /// Dropped when the parent thread may end.
    _stop: Sender<()>,
    parent: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts it in a namespace, without input and output.
    pub fn start(
        namespace: &Namespace,
        name: ProgramName,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Program> {
        let mut command = command(name, &[], arguments)?;
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Program::spawn(namespace, name, command)
    }

    /// Starts it in a namespace without input and output, by way of `wrappers`, which become the program. A Ctrl-C at the
    /// terminal does not reach it: whoever started it ends it.
    pub(crate) fn start_apart(
        namespace: &Namespace,
        name: ProgramName,
        wrappers: &[&str],
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Program> {
        let mut command = command(name, wrappers, arguments)?;
        command.envs(environment.iter().copied()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Program::spawn(namespace, name, command)
    }

    /// Starts one that is talked to, in the namespace of the calling thread and by way of `wrappers`, which become
    /// the program. A Ctrl-C at the terminal does not reach it: whoever talks to it ends it.
    pub(crate) fn start_talking(
        name: ProgramName,
        wrappers: &[&str],
        arguments: &[String],
        environment: &[(&str, &str)],
    ) -> Result<(Program, Pipes)> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = command(name, wrappers, &arguments)?;
        command.envs(environment.iter().copied()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = Program::spawn(&Namespace::current()?, name, command)?;
        let child = &mut program.child;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => {
                Ok((program, Pipes { input, output, errors }))
            }
            _ => Err(TestbedError::Program { program: name.program, message: "no pipes".into() }),
        }
    }

    fn spawn(namespace: &Namespace, name: ProgramName, mut command: Command) -> Result<Program> {
        let failed = |message| TestbedError::Program { program: name.program, message };
        let (stop, stopped) = channel();
        let (started, child) = channel();
        let inside = namespace.enterer()?;
        // The kernel kills the program when the thread that started it ends, hence one for its life.
        let parent = std::thread::spawn(move || {
            let child = inside.enter().and_then(|()| {
                command.spawn().map_err(|error| KernelError::system("start setpriv", error))
            });
            let _ = started.send(child);
            let _ = stopped.recv();
        });
        let child = child.recv().map_err(|_| failed("its thread ended".into()))??;
        Ok(Program { name, child, _stop: stop, parent: Some(parent) })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops all of its threads where they stand, for as long as it is there.
    pub(crate) fn stop(&self) {
        let _ = signal::kill(Pid::from_raw(self.child.id() as i32), Signal::SIGSTOP);
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Its memory in bytes (resident), while it runs.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// An error with what it said if it has ended.
    pub fn check(&mut self) -> Result<()> {
        let Ok(Some(status)) = self.child.try_wait() else { return Ok(()) };
        let mut said = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _ = errors.read_to_string(&mut said);
        }
        let message = format!("ended ({status}): {}", said.trim());
        Err(TestbedError::Program { program: self.name.program, message })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let (stop, _) = channel();
        self._stop = stop;
        if let Some(parent) = self.parent.take() {
            let _ = parent.join();
        }
    }
}
