//! The real binary: run to its end, or as a server; keys and tokens made by it; a small HTTP client to ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const ISSUER: &str = "https://issuer.example";
/// The time tests mint and judge at.
pub const NOW: &str = "1700000000";

pub fn verilane(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verilane"));
    command.args(arguments).stdin(Stdio::null());
    // Settings of whoever runs the tests are not the tests' business.
    for (name, _) in std::env::vars() {
        if name.starts_with("VERILANE_") {
            command.env_remove(name);
        }
    }
    command
}

/// What a finished command left behind.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

pub fn run(arguments: &[&str]) -> Ended {
    verilane(arguments).output().expect("the binary starts").into()
}

pub fn run_with_input(arguments: &[&str], input: &str) -> Ended {
    let mut child = verilane(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // Written beside reading: a full pipe on both sides would block for ever.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ended = child.wait_with_output().expect("it ends").into();
    writer.join().expect("the writer ends").expect("input is read");
    ended
}

/// Asserts an exit code and that standard error says something.
pub fn fails(arguments: &[&str], expected: &[&str]) {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    for text in expected {
        assert!(ended.err.contains(text), "{arguments:?}: {text:?} is not in\n{}", ended.err);
    }
    assert_eq!(ended.out, "", "{arguments:?}");
}

/// The part of a configuration that [`Server::serving`] needs: ports that the system chooses, and a log to find them in.
pub const ANY_PORTS: &str = "listen: {data: '127.0.0.1:0', admin: '127.0.0.1:0'}\ntelemetry: {log_format: json}\n";

/// A directory with a fresh key: `private.jwk.json`, and `jwks.json` unless it is a secret.
pub struct Keys(TempDir);

impl Keys {
    pub fn new(algorithm: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().to_str().expect("UTF-8").to_owned();
        let ended = run(&["keygen", "--alg", algorithm, "--out", &out]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        Self(directory)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    pub fn private(&self) -> String {
        self.path("private.jwk.json")
    }

    pub fn public(&self) -> String {
        self.path("jwks.json")
    }

    pub fn mint(&self, more: &[&str]) -> String {
        let key = self.private();
        let mut arguments = vec!["mint", "--key", &key, "--iss", ISSUER, "--aud", "api", "--sub", "alice"];
        if !more.contains(&"--now") {
            arguments.extend_from_slice(&["--now", NOW]);
        }
        arguments.extend_from_slice(more);
        let ended = run(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out.trim_end().to_owned()
    }
}

/// The token with another character at the start of its signature.
pub fn forged(token: &str) -> String {
    let (input, signature) = token.rsplit_once('.').expect("three segments");
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    format!("{input}.{first}{}", &signature[1..])
}

pub fn lines_of_json(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// A server that ends with the test.
pub struct Server {
    child: Child,
    /// What it printed until the last line that was waited for.
    pub printed: String,
    errors: PathBuf,
    _directory: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn spawn(command: Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let errors = directory.path().join("errors");
        let log = std::fs::File::create(&errors).unwrap();
        Self::start(command, log, errors, directory)
    }

    /// With its log in a device.
    pub fn spawn_logging_to(command: Command, device: &str) -> Self {
        let log = std::fs::File::options().write(true).open(device).unwrap();
        Self::start(command, log, device.into(), tempfile::tempdir().expect("a directory"))
    }

    fn start(command: Command, log: std::fs::File, errors: PathBuf, directory: TempDir) -> Self {
        Self::launch(command, log.into(), errors, directory)
    }

    fn launch(mut command: Command, log: Stdio, errors: PathBuf, directory: TempDir) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the binary starts");
        Self { child, printed: String::new(), errors, _directory: directory }
    }

    /// With its log in a pipe that the caller may leave unread.
    pub fn spawn_logging_to_pipe(command: Command) -> (Self, std::io::PipeReader) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let directory = tempfile::tempdir().expect("a directory");
        let errors = directory.path().join("none");
        (Self::launch(command, writer.into(), errors, directory), reader)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }

    /// Reads standard output until a line that begins with `start`.
    pub fn wait_for_line(&mut self, start: &str) {
        let out = self.child.stdout.as_mut().expect("piped");
        let mut out = BufReader::new(out);
        let mut line = String::new();
        while !line.starts_with(start) {
            line.clear();
            let read = out.read_line(&mut line).unwrap();
            assert!(
                read > 0,
                "the server ended: {}{}",
                self.printed,
                std::fs::read_to_string(&self.errors).unwrap_or_default()
            );
            self.printed.push_str(&line);
        }
    }

    /// The address after `label` in what was printed.
    pub fn address(&self, label: &str) -> String {
        let start = format!("{label}http://");
        let line = self.printed.lines().find_map(|line| line.trim_start().strip_prefix(&start));
        line.and_then(|rest| rest.split_whitespace().next()).expect(label).to_owned()
    }

    /// Where it serves data and admin, from its log, which the configuration has to ask for in JSON.
    pub fn serving(&mut self) -> (String, String) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let log = self.log();
            // The last line may be half written.
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(line) = lines.into_iter().find(|line| line["message"] == "serving") {
                let address = |name: &str| line[name].as_str().expect(name).to_owned();
                return (address("data"), address("admin"));
            }
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {log}");
            assert!(Instant::now() < end, "it does not serve: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGTERM.
    pub fn ask_to_stop(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Asks it to stop; its exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        self.ask_to_stop();
        self.ended()
    }

    /// Asks it to stop again and again; its exit code.
    pub fn terminate_until_ended(&mut self) -> Option<i32> {
        for _ in 0..600 {
            self.ask_to_stop();
            std::thread::sleep(Duration::from_millis(100));
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
        }
        panic!("it does not end: {}", self.log());
    }

    /// Its exit code, once it has ended by itself.
    pub fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "it does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// One HTTP/1.1 exchange: status and body.
pub fn exchange(address: &str, request: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

pub fn get(address: &str, path: &str) -> Option<(u16, String)> {
    exchange(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"))
}

pub fn post(address: &str, path: &str, body: &str) -> Value {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let (status, answer) = exchange(address, &request).expect("an answer");
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).expect("JSON")
}

/// Asks until the answer is the wanted one; fails after a minute with the last answer.
pub fn eventually<T: std::fmt::Debug>(what: &str, mut ask: impl FnMut() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = ask();
        if wanted(&answer) {
            return answer;
        }
        assert!(Instant::now() < end, "{what}: {answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
