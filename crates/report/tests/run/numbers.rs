//! Numbers in tables, JSON, CSV and HTML equal those of the events.

use crate::{EVENTS, report};
use method::FigureName;
use report::terminal::{self, Style};
use report::{Answers, Report, csv, html, json};
use serde_json::Value;

/// The events as any reader of `events.jsonl` sees them.
fn saved() -> Vec<Value> {
    EVENTS.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

fn of_kind(kind: &str) -> Vec<Value> {
    saved().iter().filter_map(|event| event.get(kind).cloned()).collect()
}

/// What the tests of this kind say of themselves.
fn records_of(test: &str) -> Vec<Value> {
    let outcomes = of_kind("test_finished").into_iter().filter(|outcome| outcome["test"] == test);
    outcomes.map(|outcome| outcome["detail"].clone()).collect()
}

fn sum(values: &Value, keep: impl Fn(&Value) -> bool, member: &str) -> u64 {
    let values = values.as_array().unwrap().iter().filter(|value| keep(value));
    values.map(|value| value[member].as_u64().unwrap()).sum()
}

/// A rate as it is saved: frames in seconds.
fn fps(rate: &Value) -> f64 {
    rate["frames"].as_f64().unwrap() / rate["per_seconds"].as_f64().unwrap()
}

/// Cells of the CSV as text, by row and name of column.
fn rows(csv: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    ::csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// Cells of the table after a heading of the page.
fn html_rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let after = &page[page.find(heading).unwrap_or_else(|| panic!("no {heading}"))..];
    let body = after.split_once("<tbody>").unwrap().1.split_once("</tbody>").unwrap().0;
    let rows = body.split("<tr>").skip(1);
    let cell = |cell: &str| {
        let text = cell.split_once('>').unwrap().1.split_once("</td>").unwrap().0;
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    };
    rows.map(|row| row.split("<td").skip(1).map(cell).collect()).collect()
}

/// The first screen has the answers: a sentence for each throughput, before all tables; what departs from the RFC
/// comes after them.
#[test]
fn answers_come_before_tables_and_departures_after() {
    let report = report();
    let text = terminal::render(&report, Style { width: None, colour: false });
    let tables = text.find("Throughput (RFC 2544").expect("a table");
    let records = records_of("throughput");
    assert!(records.len() > 1);
    for record in &records {
        let found = &record["throughput"];
        let size = record["conditions"]["frame_size"].as_str().unwrap();
        let begin = format!("{size} B  ");
        let at = text.find(&begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
        assert!(at < tables);
        let answer = text[at..].lines().next().unwrap();
        let rate = fps(&found["rate"]);
        // On the medium, with preamble and gap (RFC 2544 section 20).
        let gigabits = rate * (size.parse::<f64>().unwrap() + 20.0) * 8.0 / 1e9;
        assert!(answer.contains(&format!("({gigabits:.3} Gb/s)")), "{answer}, not {gigabits}");
        assert!(answer.contains("p99 at 50 %: "), "{answer}");
    }
    let outcomes = of_kind("test_finished");
    let one = outcomes[0]["conditions"]["deviations"][0].as_str().expect("a departure");
    let departure = text.find(&format!("NOT CONFORMANT: {one} (")).expect("a line of it");
    assert!(departure > tables);
}

#[test]
fn every_trial_is_in_every_form_with_the_counts_that_were_saved() {
    let records = of_kind("trial_finished");
    assert!(records.len() > 50, "a run of {} trials tests little", records.len());
    let invalid = records.iter().filter(|r| r["verdict"] == "invalid").count();
    assert!(invalid > 0, "the sample is to have invalid trials");
    let report = report();
    let in_csv = rows(&csv::trials(&report));
    let in_json: Value = serde_json::from_str(&json::render(&report)).unwrap();
    let page = html::render(&report);
    let in_html = html_rows(&page, "Appendix: every trial");
    assert_eq!(in_csv.len(), records.len());
    assert_eq!(in_html.len(), records.len());
    for (at, record) in records.iter().enumerate() {
        let streams = &record["result"]["streams"];
        let test = |stream: &Value| stream["role"] == "test";
        let lost = sum(streams, test, "lost");
        let sent = sum(streams, test, "sent");
        let received = sum(streams, test, "received");
        assert_eq!(sent, received + lost, "the sample's streams are unicast");
        let foreign = sum(&record["result"]["received"], |_| true, "foreign");
        let reordered = sum(streams, test, "reordered");
        let expected = [
            ("offered_frames", sent),
            ("forwarded_frames", received),
            ("lost_frames", lost),
            ("reordered_frames", reordered),
            ("foreign_frames", foreign),
        ];
        for (column, count) in expected {
            assert_eq!(in_csv[at][column], count.to_string(), "{column} of trial {at}");
            assert_eq!(in_json["trials"][at][column], count, "{column} of trial {at}");
        }
        let cells: Vec<&str> = in_html[at].iter().map(String::as_str).collect();
        let digits = |cell: &str| cell.replace(',', "").parse::<u64>().unwrap();
        assert_eq!(digits(cells[0]), record["number"].as_u64().unwrap());
        assert_eq!([cells[9], cells[10], cells[11]].map(digits), [sent, received, lost]);
        let is_invalid = cells.last().unwrap().starts_with("INVALID");
        assert_eq!(is_invalid, record["verdict"] == "invalid", "{cells:?}");
    }
    let invalid_in_csv = in_csv.iter().filter(|row| row["verdict"] == "invalid").count();
    assert_eq!(invalid_in_csv, invalid);
    assert!(in_csv.iter().all(|r| r["verdict"] != "invalid" || !r["tester_faults"].is_empty()));
    let text = terminal::render(&report, Style { width: None, colour: false });
    // No trial that fell short is called valid.
    let is_short =
        |record: &&Value| record["verdict"] != "invalid" && record["result"]["validity"] != "valid";
    let short = records.iter().filter(is_short).count();
    assert!(short > 0, "the sample is to have a self-test that falls short");
    let valid = records.len() - short - invalid;
    assert_eq!(sums_of_trials(&text), [records.len(), valid, short, invalid], "{text}");
}

/// The sums of the table of trials: trials, valid, fell short, invalid.
fn sums_of_trials(text: &str) -> [usize; 4] {
    let table = text.split_once("\nTrials\n").unwrap().1;
    let rows = table.lines().skip(3).take_while(|line| !line.trim().is_empty());
    let mut sums = [0; 4];
    for row in rows {
        let numbers = row.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    sums
}

#[test]
fn throughput_is_the_same_in_every_form_and_never_more_than_was_measured() {
    let results = records_of("throughput");
    assert_eq!(results.len(), 2);
    let report = report();
    let in_csv = rows(&csv::results(&report));
    let in_csv: Vec<_> = in_csv.iter().filter(|row| row["quantity"] == "throughput").collect();
    let in_json: Value = serde_json::from_str(&json::render(&report)).unwrap();
    let page = html::render(&report);
    let in_html = html_rows(&page, "Throughput (RFC 2544 section 26.1)");
    let text = terminal::render(&report, Style { width: Some(100), colour: false });
    for (at, result) in results.iter().enumerate() {
        let rate = fps(&result["throughput"]["rate"]);
        assert_eq!(in_csv[at]["value"].parse::<f64>().unwrap(), rate);
        let outcomes = in_json["outcomes"].as_array().unwrap().iter();
        let of_test: Vec<_> = outcomes.filter(|outcome| outcome["test"] == "throughput").collect();
        assert_eq!(of_test[at]["figures"][0]["value"], rate);
        let printed: f64 = in_html[at][3].replace(',', "").parse().unwrap();
        assert!(printed <= rate && rate < printed + 1.0, "{printed} for {rate}");
        let size = result["conditions"]["frame_size"].as_str().unwrap();
        let tables = text.find("\nThroughput (RFC 2544").expect("the table");
        let mut rows = text[tables..].lines();
        let row = rows.find(|line| line.trim_start().starts_with(size)).unwrap();
        assert!(row.contains(&in_html[at][1]), "theoretical maximum in {row}");
        let resolution = result["throughput"]["resolution_fps"].as_f64();
        let in_csv = in_csv[at]["high"].parse::<f64>().unwrap() - rate;
        assert!((in_csv - resolution.unwrap_or(0.0)).abs() < 1e-6, "{in_csv} {resolution:?}");
    }
}

#[test]
fn loss_is_that_of_the_counts() {
    let results = records_of("frame_loss");
    let in_csv = rows(&csv::results(&report()));
    let mut compared = 0;
    for point in results.iter().flat_map(|r| r["points"].as_array().unwrap().clone()) {
        let (expected, received) = (
            point["expected_frames"].as_f64().unwrap(),
            point["received_frames"].as_f64().unwrap(),
        );
        let percent = (expected - received) * 100.0 / expected;
        let name = format!("loss at {} % of the maximum", point["percent_of_maximum"]);
        let name = name.replace(".0 %", " %");
        let of_name = in_csv.iter().filter(|row| row["quantity"] == name);
        let values = of_name.map(|row| row["value"].parse::<f64>().unwrap());
        assert!(values.into_iter().any(|v| (v - percent).abs() < 1e-9), "{name}: {percent}");
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

#[test]
fn conformance_and_hostile_words_are_in_every_form() {
    let report = report();
    let deviations: Vec<Value> = of_kind("test_finished");
    let one = deviations[0]["conditions"]["deviations"][0].as_str().unwrap().to_string();
    let text = terminal::render(&report, Style { width: None, colour: false });
    assert!(text.contains(&format!("NOT CONFORMANT: {one}")), "{text}");
    assert!(csv::results(&report).contains(&one));
    let in_json: Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(in_json["conformant"], false);
    let page = html::render(&report);
    assert!(page.contains("Not conformant"));
    // The device's name and its configuration try to be markup.
    assert!(page.contains("R&amp;D &lt;1&gt;") && !page.contains("R&D <1>"));
    assert!(!page.contains("<per port>"));
}

/// The annex is that of the results: every clause of each, in the page and for programs.
#[test]
fn clauses_are_in_every_form() {
    let report = report();
    let mut saved: Vec<Value> = vec![];
    for result in of_kind("test_finished") {
        let clauses = result["conditions"]["clauses"].as_array().unwrap().clone();
        assert!(clauses.len() > 5, "{result}");
        for clause in clauses {
            if !saved.contains(&clause) {
                saved.push(clause);
            }
        }
    }
    let in_json: Value = serde_json::from_str(&json::render(&report)).unwrap();
    let mut rows = in_json["clauses"].as_array().unwrap().clone();
    for row in &mut rows {
        assert!(
            !row.as_object_mut().unwrap().remove("tests").unwrap().as_array().unwrap().is_empty()
        );
        assert!(saved.contains(row), "{row}");
    }
    assert_eq!(rows.len(), saved.len());
    let page = html::render(&report);
    let in_html = html_rows(&page, "Annex: clauses of the documents");
    assert_eq!(in_html.len(), saved.len());
    let departed = saved.iter().filter(|clause| clause["verdict"] == "departed");
    for clause in departed {
        assert!(in_html.iter().any(|row| row[4] == clause["why"].as_str().unwrap()), "{clause}");
    }
    let text = terminal::render(&report, Style { width: None, colour: false });
    assert!(
        text.contains("Clauses of the documents") && text.contains("another run would have it")
    );
}

#[test]
fn a_run_cut_off_says_so_and_keeps_what_it_has() {
    let half = &EVENTS[..EVENTS.len() / 2];
    let report = Report::from_events(half, vec![]);
    let trials = half.iter().filter(|event| matches!(event, method::Event::TrialFinished(_)));
    assert_eq!(report.trials.len(), trials.count());
    assert!(html::render(&report).contains("Incomplete"));
    let text = terminal::render(&report, Style { width: Some(80), colour: false });
    assert!(text.contains("INCOMPLETE"), "{text}");
    let in_json: Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(in_json["status"], "cut_off");
    assert_eq!(html::render(&Report::default()).matches("unknown device").count(), 2);
}

/// The last lines of a screen are the answers, one for each throughput found, within 80 columns.
#[test]
fn a_screen_ends_with_the_answers() {
    let report = report();
    let text = terminal::render(&report, Style { width: Some(80), colour: false });
    let found = report.results.iter().flat_map(|it| it.figures_of(FigureName::Throughput));
    let found: Vec<_> = found.collect();
    let p99 = report.results.iter().flat_map(|it| it.figures_of(FigureName::HalfLoadP99));
    let mut p99_us: Vec<f64> = p99.filter_map(|figure| Some(figure.value? / 1e3)).collect();
    assert!(!found.is_empty());
    let lines: Vec<&str> = text.lines().collect();
    let (head, answers) = lines.split_at(lines.len() - found.len());
    assert_eq!(*head.last().unwrap(), "In brief");
    for (answer, figure) in answers.iter().zip(found) {
        assert!(answer.chars().count() <= 80, "{answer}");
        let (fps, words) = (figure.value.unwrap(), answer.split_whitespace().collect::<Vec<_>>());
        let at = words.iter().position(|word| word.ends_with("pps")).unwrap();
        assert!(answer.contains("-limited"), "{answer}");
        let unit = [("pps", 1.0), ("kpps", 1e3), ("Mpps", 1e6)];
        let unit = unit.into_iter().find(|(name, _)| *name == words[at]).unwrap().1;
        let said = words[at - 1].parse::<f64>().unwrap() * unit;
        assert!((said / fps - 1.0).abs() < 0.005, "{answer}: {fps}");
        if let Some(at) = words.iter().position(|word| *word == "p99") {
            assert_eq!(words[at + 1..at + 4], ["at", "50", "%:"], "{answer}");
            let unit = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
            let unit = unit.into_iter().find(|(name, _)| *name == words[at + 5]).unwrap().1;
            let said_us = words[at + 4].parse::<f64>().unwrap() * unit;
            let is_said = |us: &f64| (said_us / us - 1.0).abs() < 0.02;
            let at = p99_us.iter().position(is_said).expect("the latency of some size");
            p99_us.remove(at);
        }
    }
    assert!(p99_us.is_empty(), "{p99_us:?} us are not told");
}

/// Five sizes of twenty tests would be a hundred lines: a test is a line, with the value of each size.
#[test]
fn a_test_without_throughput_is_one_sentence_with_all_its_sizes() {
    let mut report = report();
    report.results.retain(|outcome| outcome.test == method::TestKind::FrameLoss);
    let of_sizes = report.results.iter().map(|outcome| {
        let size = format!("at {} B", outcome.conditions.frame_size);
        (outcome.figures[0].printed().0, size)
    });
    let of_sizes: Vec<_> = of_sizes.collect();
    assert!(of_sizes.len() > 1, "{of_sizes:?}");
    let sentences: Vec<_> =
        Answers::of(&report).groups.into_iter().flat_map(|group| group.sentences).collect();
    let [sentence] = &sentences[..] else { panic!("{sentences:?}") };
    for (value, size) in of_sizes {
        let said = sentence.split(", ").find(|part| part.contains(&size)).expect("each size");
        assert!(said.contains(&value), "{value} {size}: {sentence}");
    }
}

/// A load that could not be measured does not hide the loads that could: "no result" stood over a table with two.
#[test]
fn a_sentence_has_the_loads_that_are_known_and_the_one_that_is_not() {
    use method::outcome::{Figure, Unit};
    let mut report = report();
    report.results.retain(|outcome| outcome.test == method::TestKind::FrameLoss);
    report.results.truncate(1);
    let known = |percent: u8, lost| {
        let name = format!("loss at {percent} % of the maximum");
        Figure::share_lost(name, lost, 1_000).called(FigureName::Loss)
    };
    let short = Some("the tester fell short".into());
    let missing = Figure::missing("loss at 50 % of the maximum", Unit::Percent, short);
    let missing = missing.called(FigureName::Loss);
    let told = |figures: Vec<Figure>, report: &mut Report| {
        report.results[0].figures = figures;
        Answers::of(report).groups.remove(0).sentences.remove(0)
    };
    let sentence = told(vec![missing.clone(), known(10, 1_000), known(1, 250)], &mut report);
    let after = sentence.split_once(" bytes: ").expect("a size").1;
    assert_eq!(
        after,
        "100.00 % (loss at 10 % of the maximum), 25.00 % (loss at 1 % of the maximum); no result (loss at 50 % of the \
         maximum): the tester fell short"
    );
    let many = [missing.clone(), missing.clone()].into_iter().chain((1..=5).map(|p| known(p, 0)));
    let sentence = told(many.collect(), &mut report);
    assert!(sentence.contains("(loss at 3 % of the maximum) and 2 more; no result"), "{sentence}");
    assert!(
        sentence.contains("(loss at 50 % of the maximum and 1 more): the tester"),
        "{sentence}"
    );
    let sentence = told(vec![missing], &mut report);
    assert!(sentence.ends_with(" bytes: no result: the tester fell short"), "{sentence}");
}

/// A resumed run tells again what it knew.
#[test]
fn what_is_told_twice_counts_once() {
    let mut twice = EVENTS[..EVENTS.len() / 2].to_vec();
    twice.extend(EVENTS.iter().cloned());
    let (again, once) = (Report::from_events(&twice, vec![]), report());
    assert!(again.trials == once.trials);
    assert_eq!(again.results.len(), once.results.len());
    assert_eq!((again.resumed, once.resumed), (1, 0));
}

#[test]
fn every_stream_of_every_trial_is_accounted_for() {
    let report = report();
    let rows = rows(&csv::streams(&report));
    let records = of_kind("trial_finished");
    let number = |row: &std::collections::BTreeMap<String, String>, column: &str| {
        row[column].parse::<u64>().unwrap_or_else(|_| panic!("{column}: {row:?}"))
    };
    for record in &records {
        let trial = record["number"].as_u64().unwrap();
        for stream in record["result"]["streams"].as_array().unwrap() {
            let of_stream = rows.iter().filter(|row| {
                number(row, "trial") == trial
                    && number(row, "stream") == stream["id"].as_u64().unwrap()
                    && row["is_expected"] == "true"
            });
            let of_stream: Vec<_> = of_stream.collect();
            let ports = stream["expected_ports"].as_array().unwrap().len();
            assert_eq!(of_stream.len(), ports, "trial {trial}: {stream}");
            for row in &of_stream {
                let [sent, received, lost] =
                    ["sent_frames", "received_frames", "lost_frames"].map(|name| number(row, name));
                assert_eq!(sent, received + lost, "trial {trial}: {row:?}");
                assert_eq!(received > 0, !row["first_arrival_ps"].is_empty());
            }
            let sum = |name| of_stream.iter().map(|row| number(row, name)).sum::<u64>();
            for (column, member) in [("received_frames", "received"), ("lost_frames", "lost")] {
                assert_eq!(sum(column), stream[member].as_u64().unwrap(), "trial {trial}");
            }
        }
    }
}
