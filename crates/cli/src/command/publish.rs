//! `netanvil publish`: a review of saved runs, to be printed.

use crate::args::Publish;
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, rendering};
use report::{Product, Publication, Report, Status};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What Chromium is called, in the order of distributions.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A page of 20 products takes less than a tenth of that.
const PRINTED_WITHIN: Duration = Duration::from_secs(300);

pub fn run(arguments: &Publish) -> Outcome {
    let review = read(&arguments.review)?;
    let beside = arguments.review.parent().unwrap_or(Path::new(""));
    let reports = review.products.iter().map(|product| report_of(beside, product));
    let reports = reports.collect::<Outcome<Vec<Report>>>()?;
    let page = arguments.out.clone().unwrap_or_else(|| arguments.review.with_extension("html"));
    if page == arguments.review {
        return Err(Failure::new(format!("{} is the review itself", page.display()))
            .help("name another file by --out"));
    }
    if arguments.pdf && page.with_extension("pdf") == page {
        return Err(Failure::new(format!("{} is the file of the PDF", page.display()))
            .help("--out names the page, such as review.html; the PDF is written beside it"));
    }
    std::fs::write(&page, report::html::publication(&review, &reports))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
    output::print(&format!("{}\n", page.display()))?;
    if arguments.pdf {
        output::print(&format!("{}\n", print(&page)?.display()))?;
    }
    Ok(Exit::Done)
}

fn read(file: &Path) -> Outcome<Publication> {
    const HELP: &str = "netanvil publish --help shows a review";
    let wrong = |why: String| Failure::new(format!("{}: {why}", file.display())).help(HELP);
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let review: Publication = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match review.refusal() {
        Some(why) => Err(wrong(why)),
        None => Ok(review),
    }
}

/// The run of a product, whose folder stands beside the review. Only a whole one is printed.
fn report_of(beside: &Path, product: &Product) -> Outcome<Report> {
    let folder = beside.join(&product.run);
    let report = rendering::read(&folder)?;
    let why = match report.status() {
        Status::Complete => return Ok(report),
        Status::Stopped(why) => why.to_owned(),
        Status::CutOff => "it was cut off".to_owned(),
    };
    Err(Failure::new(format!("{} is not complete: {why}", folder.display()))
        .help(format!("netanvil run --resume {} goes on with it", folder.display())))
}

/// Prints a page into a PDF beside it.
fn print(page: &Path) -> Outcome<PathBuf> {
    let pdf = page.with_extension("pdf");
    let cannot = |why: String| {
        Failure::new(format!("cannot print {}: {why}", pdf.display()))
            .help("--pdf needs Chromium (apt install chromium); any browser prints the page, too")
    };
    let absolute = std::path::absolute(page).map_err(|error| cannot(error.to_string()))?;
    let is_there = |name: &&&str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
    };
    let browser =
        BROWSERS.iter().find(is_there).ok_or_else(|| cannot("no browser found".into()))?;
    let profile = tempfile::tempdir().map_err(|error| cannot(error.to_string()))?;
    let _ = std::fs::remove_file(&pdf);
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"])
        // Root has no sandbox; the page is our own and fetches nothing.
        .arg("--no-sandbox")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(address_of(&absolute))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let (status, said) = ended(command, profile.path(), PRINTED_WITHIN)
        .map_err(|error| cannot(format!("{browser}: {error}")))?;
    let is_written = std::fs::metadata(&pdf).is_ok_and(|found| found.len() > 0);
    match status.success() && is_written {
        true => Ok(pdf),
        false => {
            Err(cannot(format!("{browser}: {}", said.lines().last().unwrap_or("no PDF came"))))
        }
    }
}

/// The address of a file: what is not a plain letter, digit or mark of a path goes as its bytes (RFC 3986, section 2.1).
fn address_of(file: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = file.as_os_str().as_bytes().iter();
    let written = bytes.map(|byte| match plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file://{}", written.collect::<String>())
}

/// Runs a program to its end; one that is not done in time is stopped. Gives what it said on standard error, which goes
/// through a file in `scratch`: nobody has to read while it runs.
fn ended(
    mut command: Command,
    scratch: &Path,
    within: Duration,
) -> std::io::Result<(ExitStatus, String)> {
    let said = scratch.join("said");
    let mut child = command.stderr(std::fs::File::create(&said)?).spawn()?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > within {
            child.kill()?;
            child.wait()?;
            let why = format!("it did not end within {} s", within.as_secs());
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Ok((status, String::from_utf8_lossy(&std::fs::read(said)?).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_what_would_end_it_early() {
        let of = |path: &str| address_of(Path::new(path));
        assert_eq!(of("/a/report.html"), "file:///a/report.html");
        assert_eq!(of("/50 %/#1?.html"), "file:///50%20%25/%231%3F.html");
    }

    #[test]
    fn a_browser_that_hangs_is_stopped() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut hangs = Command::new("sleep");
        hangs.arg("600");
        let error = ended(hangs, scratch.path(), Duration::from_millis(50)).expect_err("too slow");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        let (status, _) =
            ended(Command::new("false"), scratch.path(), PRINTED_WITHIN).expect("it ends");
        assert_eq!(status.code(), Some(1));
    }
}
