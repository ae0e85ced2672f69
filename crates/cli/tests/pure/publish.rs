//! `netanvil publish`: two devices with the reviewer's remarks, as a page and as a PDF.

use crate::common::Scratch;

const RUN: &str = "run --profile quick --sizes 64 --test throughput --duration 50ms --skip-selftest --quiet --yes";

fn review(scratch: &Scratch, text: &str) -> String {
    std::fs::write(scratch.path().join("review.toml"), text).expect("write the review");
    "publish review.toml".into()
}

const REVIEW: &str = "title = \"Routers & switches\"\nauthors = [\"A. Reviewer\"]\ndate = \"today\"\n\
    [[product]]\nrun = \"a\"\nname = \"The <first>\"\nremarks = \"\"\"It was quiet.\n\nIt was fast.\"\"\"\n\
    [[product]]\nrun = \"b\"\nresponse = \"Our next one is faster.\"\n";

#[test]
fn a_review_has_a_chapter_for_each_product_and_is_printed() {
    let scratch = Scratch::new();
    for (device, folder) in [("router", "a"), ("bridge", "b")] {
        scratch.run(&format!("{RUN} --sim {device} --out {folder}")).expect(0);
    }
    let command = review(&scratch, REVIEW);
    let said = scratch.run(&format!("{command} --pdf")).expect(0).stdout;
    assert_eq!(said.lines().collect::<Vec<_>>(), ["review.html", "review.pdf"]);
    let page = std::fs::read_to_string(scratch.path().join("review.html")).expect("the page");
    for part in [
        "<h1>Routers &amp; switches</h1>",
        "The &lt;first&gt;</h1>",
        "<p>It was quiet.</p><p>It was fast.</p>",
        "Our next one is faster.",
        "Side by side",
        "Test bed",
        "Appendix: The &lt;first&gt;",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Nothing can be unfolded on paper.
    assert_eq!(page.matches("<details").count(), page.matches("<details open").count());
    let pdf = std::fs::read(scratch.path().join("review.pdf")).expect("the PDF");
    assert!(pdf.starts_with(b"%PDF-"), "{:?}", &pdf[..16.min(pdf.len())]);
    // A page for each: cover, results side by side, two chapters, sources, two appendices of three parts.
    let pages =
        pdf.windows(11).filter(|at| at.starts_with(b"/Type /Page") && at.len() == 11).count();
    assert!(pages > 8, "{pages} pages");
}

#[test]
fn a_review_says_under_which_other_conditions_a_run_was_made() {
    // The folder has what would end an address early.
    let scratch = Scratch::new();
    let folder = "of 50 % #1";
    std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
    for (more, run) in [("", "a"), ("--seed 7", "b")] {
        scratch.run(&format!("{RUN} {more} --sim router --out {run}")).expect(0);
        let to = scratch.path().join(folder).join(run);
        std::fs::rename(scratch.path().join(run), to).expect("move the run");
    }
    std::fs::write(scratch.path().join(folder).join("review.toml"), REVIEW).expect("a review");
    let mut command = scratch.command("publish --pdf");
    let said = command.arg(format!("{folder}/review.toml")).output().expect("the program starts");
    crate::common::Ran::from(said).expect(0);
    let page = std::fs::read_to_string(scratch.path().join(folder).join("review.html"));
    let page = page.expect("the page");
    let (_, conditions) = page.split_once("Conditions that differ").expect("the list");
    assert!(conditions.contains("configuration seed differs:"), "{conditions}");
    let pdf = std::fs::read(scratch.path().join(folder).join("review.pdf")).expect("the PDF");
    // Of the review, not of a page that says that there is no such file.
    assert!(pdf.len() > 50_000, "{} bytes", pdf.len());
}

#[test]
fn what_cannot_be_printed_is_refused_with_the_remedy() {
    let scratch = Scratch::new();
    let command = review(&scratch, REVIEW);
    let error = scratch.run(&command).expect(2).stderr;
    assert!(error.contains("a is not a run folder"), "{error}");
    let command = review(&scratch, "title = \"T\"\nprice = 3\n[[product]]\nrun = \"a\"");
    let error = scratch.run(&command).expect(2).stderr;
    assert!(error.contains("review.toml") && error.contains("price"), "{error}");
    scratch.run(&format!("{RUN} --sim router --out a")).expect(0);
    let events = scratch.path().join("a/events.jsonl");
    let whole = std::fs::read_to_string(&events).expect("events");
    let cut: String = whole.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&events, cut).expect("write events");
    let command = review(&scratch, "title = \"T\"\n[[product]]\nrun = \"a\"");
    let error = scratch.run(&command).expect(2).stderr;
    assert!(error.contains("a is not complete") && error.contains("--resume a"), "{error}");
    scratch.run(&format!("{RUN} --sim router --out b")).expect(0);
    let command = review(&scratch, "title = \"T\"\n[[product]]\nrun = \"b\"");
    let error = scratch.run(&format!("{command} --out review.toml")).expect(2).stderr;
    assert!(error.contains("the review itself"), "{error}");
    let error = scratch.run(&format!("{command} --out paper.pdf --pdf")).expect(2).stderr;
    assert!(error.contains("the file of the PDF") && error.contains("review.html"), "{error}");
    assert!(!scratch.path().join("paper.pdf").exists());
}
