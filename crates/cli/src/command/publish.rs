//! `netanvil publish`: a review of saved runs, to be printed.

use crate::args::Publish;
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, rendering};
use report::{Product, Publication, Report, Status};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What Chromium is called, in the order of distributions.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

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
    let said = Command::new(browser)
        .args(["--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"])
        // Root has no sandbox; the page is our own and fetches nothing.
        .arg("--no-sandbox")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", absolute.display()))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot(format!("{browser}: {error}")))?;
    let is_written = std::fs::metadata(&pdf).is_ok_and(|found| found.len() > 0);
    match said.status.success() && is_written {
        true => Ok(pdf),
        false => {
            let error = String::from_utf8_lossy(&said.stderr);
            Err(cannot(format!("{browser}: {}", error.lines().last().unwrap_or("no PDF came"))))
        }
    }
}
