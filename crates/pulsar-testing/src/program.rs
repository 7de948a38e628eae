//! Pulsar's clients for other languages, run as programs of their own.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// What a program may take at most; a JVM on a busy machine starts slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long Go may take to fetch what its program needs.
const FETCHING: Duration = Duration::from_secs(60);

/// How long Go may take to build it; the first time takes minutes.
const BUILDING: Duration = Duration::from_secs(360);

/// A client in another language; returns from the test, with a line on standard error, where it is missing.
///
/// # Panics
/// When it is missing and `BABELQUEUE_REQUIRE_...=1` for its language.
#[macro_export]
macro_rules! program_or_skip {
    ($program:expr) => {
        match $program {
            Ok(program) => program,
            Err(missing) => return $crate::skip(missing.require, &missing.why),
        }
    };
}

/// Why a program cannot run here.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The environment variable that makes its absence a failure.
    pub require: &'static str,
    /// What the test needs.
    pub why: String,
}

impl Missing {
    fn new(require: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { require, why }
    }
}

/// Pulsar's Python client with a script.
///
/// # Errors
/// Where `scripts/python-peer` did not run.
pub fn python(script: &Path) -> Result<Command, Missing> {
    let Some(interpreter) = crate::python() else {
        let why = "needs the Python peer (run scripts/python-peer)";
        return Err(Missing::new("BABELQUEUE_REQUIRE_PYTHON", why));
    };
    let mut command = Command::new(interpreter);
    command.arg(script);
    Ok(command)
}

/// Pulsar's own client, from the broker's libraries, with a source file.
///
/// # Errors
/// Without a JDK, or where `scripts/pulsar` never fetched the libraries.
pub fn java(source: &Path) -> Result<Command, Missing> {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pulsar/lib-4.0.7");
    let tool = |name: &str| {
        env::var_os("JAVA_HOME").map_or(name.into(), |home| Path::new(&home).join("bin").join(name))
    };
    if !libraries.is_dir() || !runs(std::process::Command::new(tool("javac")).arg("-version")) {
        let why = "needs a JDK and Pulsar's Java client (run scripts/pulsar up once)";
        return Err(Missing::new("BABELQUEUE_REQUIRE_JAVA", why));
    }
    let mut command = Command::new(tool("java"));
    command
        // It lives for seconds: the second compiler would cost more than it gives back.
        .arg("-XX:TieredStopAtLevel=1")
        .arg("-cp")
        .arg(libraries.join("*"))
        .arg(source);
    Ok(command)
}

/// Pulsar's Go client with a source file, built in the folder `target`; its module is the folder `go` of this crate.
///
/// # Errors
/// Without Go, or where it does not fetch and build what the program needs in time.
///
/// # Panics
/// When the program has errors.
pub async fn go(source: &Path, target: &Path) -> Result<Command, Missing> {
    let missing = |why: String| Missing::new("BABELQUEUE_REQUIRE_GO", why);
    let in_go = |arguments: &[&OsStr]| {
        let mut command = Command::new("go");
        command.args(arguments).kill_on_drop(true);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("go"));
        command
    };
    let mut download = in_go(&["mod".as_ref(), "download".as_ref()]);
    match timeout(FETCHING, download.output()).await {
        Err(_) => {
            let why = format!("needs Pulsar's Go client, not fetched within {FETCHING:?}");
            return Err(missing(why));
        }
        Ok(Err(error)) => return Err(missing(format!("needs Go: {error}"))),
        Ok(Ok(fetched)) if !fetched.status.success() => {
            let why = String::from_utf8_lossy(&fetched.stderr);
            return Err(missing(format!("needs Pulsar's Go client: {}", why.trim())));
        }
        Ok(Ok(_)) => {}
    }
    let program = target.join("go").join(source.file_stem().expect("a source file"));
    let mut build = in_go(&["build".as_ref(), "-o".as_ref(), program.as_ref(), source.as_ref()]);
    let Ok(built) = timeout(BUILDING, build.output()).await else {
        return Err(missing(format!(
            "needs Pulsar's Go client, not built within {BUILDING:?}; Go keeps what it has built, so the next run needs less"
        )));
    };
    let built = built.expect("Go runs");
    let complaints = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "the Go program is not built: {complaints}"
    );
    Ok(Command::new(program))
}

/// Pulsar's Node client with a script.
///
/// # Errors
/// Without Node, and where the client or its native part is not installed in `target/interop/node`.
pub fn node(script: &Path) -> Result<Command, Missing> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interop/node/node_modules");
    let mut loads = std::process::Command::new("node");
    loads
        .env("NODE_PATH", &modules)
        .args(["-e", "require('pulsar-client')"]);
    if !runs(&mut loads) {
        let why = "needs Node and Pulsar's client (npm install --prefix target/interop/node pulsar-client)";
        return Err(Missing::new("BABELQUEUE_REQUIRE_NODE", why));
    }
    let mut command = Command::new("node");
    command.env("NODE_PATH", modules).arg(script);
    Ok(command)
}

/// Runs a program to its end with `input`; the lines that it wrote.
///
/// # Panics
/// When it fails, with what it wrote on standard error, or does not end.
pub async fn run(mut program: Command, arguments: &[&str], input: &str) -> Vec<String> {
    let mut child = program
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a piped input");
    let input = input.to_owned();
    // Beside it, since a program that writes while it reads would wait for us.
    let feeding = tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
    let ended = timeout(PATIENCE, child.wait_with_output()).await;
    let output = ended.expect("the program ends").expect("an output");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaints}", output.status);
    feeding
        .await
        .expect("no panic")
        .expect("the program reads its input");
    let lines = String::from_utf8(output.stdout).expect("a text");
    lines.lines().map(str::to_owned).collect()
}

fn runs(program: &mut std::process::Command) -> bool {
    program.output().is_ok_and(|output| output.status.success())
}
