//! The page in a real browser: charts there, nothing fetched, nothing wrong, nothing overlapping.

use crate::report;
use report::html;
use std::path::Path;
use std::process::Command;

/// What a browser makes of a page.
struct Opened {
    dom: String,
    console: Vec<String>,
}

/// Opens a page in headless Chromium with a proxy that does not exist, so that nothing can be
/// fetched from anywhere.
fn open(page: &str, width: u32) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--proxy-server=127.0.0.1:9", "--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(url(&file))
        .output()
        .expect("the browser test needs chromium: apt install chromium");
    let log = String::from_utf8_lossy(&output.stderr);
    let console = log.lines().filter(|line| line.contains("CONSOLE"));
    Opened {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: console.map(String::from).collect(),
    }
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

#[test]
fn the_page_opens_with_every_chart_and_asks_for_nothing() {
    let page = html::render(&report());
    let opened = open(&page, 1200);
    // Loss in two ways: 64 bytes ran at the tester's own maximum.
    let titles = [
        "throughput by frame size",
        "latency by frame size",
        "Latency of every frame, 64 bytes",
        "Latency of every frame, 64 bytes, percentiles",
        "Latency of every frame, 1518 bytes",
        "Latency of every frame, 1518 bytes, percentiles",
        "pdv by frame size",
        "Frame loss rate by load",
        "Frame loss rate by load, in terms of what the tester can offer",
        "burst by frame size",
        "Every trial: load and verdict",
    ];
    let drawn = opened.dom.match_indices("<figure><figcaption>").map(|(at, begins)| {
        let after = &opened.dom[at + begins.len()..];
        after.split_once("</figcaption>").expect("its end").0
    });
    assert_eq!(drawn.collect::<Vec<_>>(), titles, "charts in the page");
    // Each trial in which frames arrived has its percentiles, each that is long enough its course.
    let of_trials = |title: &str| {
        let begin = format!("<figure class=\"of-trial\"><figcaption>{title}<");
        opened.dom.matches(&begin).count()
    };
    let trials = report().trials;
    let timed = trials.iter().filter(|record| record.result.latency().is_some()).count();
    let long = trials.iter().filter(|record| !record.course.is_empty()).count();
    assert!(timed > 50 && long > 10, "{timed}, {long}");
    assert_eq!(of_trials("Latency of every frame, percentiles"), timed);
    assert_eq!(of_trials("Loss over time"), long);
    let of_courses = of_trials("Latency over time");
    assert!((1..=long).contains(&of_courses), "{of_courses} of {long}");
    let charts = titles.len() + timed + long + of_courses;
    assert_eq!(opened.dom.matches("<svg class=\"plot chart\"").count(), charts);
    assert!(opened.dom.matches("<title>").count() > 100, "hover texts of points");
    assert!(opened.dom.contains("Appendix: every trial"));
    assert_eq!(opened.console, Vec::<String>::new(), "errors in the console");
    // The policy in the page lets nothing be fetched; an attempt would be an error above.
    assert!(opened.dom.contains("default-src 'none'"));
    for outside in ["src=", "http:", "https:", "@import", "url("] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
}

/// The console does show an attempt: without this the test above could not fail.
#[test]
fn an_attempt_to_fetch_something_is_seen() {
    let page = html::render(&report());
    let page = page.replace("</body>", "<img src=\"http://198.18.0.1/x.png\"></body>");
    assert!(!open(&page, 1200).console.is_empty());
}

/// Counts pairs of labels of one chart that overlap, labels cut off by their chart, and whether
/// the page is wider than its window.
const MEASURE: &str = "<script>addEventListener('load', () => {
    let overlaps = 0, cut = 0;
    for (const chart of document.querySelectorAll('svg.chart')) {
        const frame = chart.getBoundingClientRect();
        const boxes = [...chart.querySelectorAll('text')]
            .filter(text => text.textContent.trim() !== '')
            .map(text => text.getBoundingClientRect());
        boxes.forEach((a, i) => {
            if (a.left < frame.left - 1 || a.right > frame.right + 1
                || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) cut++;
            for (const b of boxes.slice(i + 1))
                if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                    overlaps++;
        });
    }
    const narrow = [...document.querySelectorAll('svg.narrow')].filter(chart => chart.clientWidth > 0).length;
    const wide = document.documentElement.scrollWidth > innerWidth;
    document.body.dataset.measured = `overlaps ${overlaps}, cut ${cut}, too wide ${wide}, narrow ${narrow > 0}`;
});</script>";

#[test]
fn no_label_overlaps_another_on_screen_on_paper_and_on_a_telephone() {
    let page = html::render(&report());
    let policy = page.find("<meta http-equiv").unwrap();
    let end = policy + page[policy..].find('>').unwrap() + 1;
    let page = format!("{}{}{MEASURE}", &page[..policy], &page[end..]);
    // A4 less its margins is 182 mm: 688 pixels of 1/96 inch.
    // Chromium's window is no narrower than 500 pixels.
    for (width, is_narrow) in [(1200, false), (688, false), (500, true)] {
        let opened = open(&page, width);
        let measured =
            opened.dom.split_once("data-measured=\"").map_or("nothing", |(_, rest)| rest);
        let measured = measured.split('"').next().unwrap_or_default();
        let right = format!("overlaps 0, cut 0, too wide false, narrow {is_narrow}");
        assert_eq!(measured, right, "at {width} pixels");
    }
}
