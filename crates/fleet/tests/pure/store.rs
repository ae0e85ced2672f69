//! What a run says comes back from the database, once.

use crate::common::{interrupted, run_folder};
use fleet::history::{By, Trend, look_for_changes, trends};
use fleet::store::Filter;
use fleet::{Ingested, Origin, RecordError, RunRecord, Store, StoreError};
use std::time::Instant;

fn store(folder: &std::path::Path) -> Store {
    Store::open(folder.join("results.sqlite").to_str().unwrap()).unwrap()
}

#[test]
fn a_run_is_kept_once_with_its_figures_conditions_and_provenance() {
    let scratch = tempfile::tempdir().unwrap();
    let record = RunRecord::read(&run_folder(scratch.path(), 3), &Origin::default()).unwrap();
    let mut store = store(scratch.path());
    assert_eq!(store.ingest(&record).unwrap(), Ingested::New);
    assert_eq!(store.ingest(&record).unwrap(), Ingested::Known);
    assert_eq!(store.counts().unwrap(), (1, record.figures.len() as u64));

    let filter = Filter {
        test: Some("throughput".into()),
        figure: Some("throughput".into()),
        ..Filter::default()
    };
    let found = trends(&mut store, &filter).unwrap();
    let [trend] = &found[..] else { panic!("{found:#?}") };
    let [point] = &trend.points[..] else { panic!("{trend:#?}") };
    // 10 Mb/s over (1518 + 8 + 12) x 8 bits: 812.74 frames a second (RFC 2544 appendix B has 812).
    let (low, high) = (point.low.unwrap_or(812.0), point.high.unwrap_or(813.0));
    assert!(low <= 812.75 && high >= 812.0, "{point:?}");
    assert_eq!((&*point.host, &*point.kernel), ("lab", "Linux 6.18"));
    assert_eq!((&*point.program, &*point.started), ("netanvil 0.1.0", "2026-01-04T00:00:00Z"));
    assert_eq!((&*trend.series.device, &*trend.series.frame_size), ("a cable", "1518"));
    assert_eq!(point.run, record.digest);
}

#[test]
fn a_run_that_is_not_complete_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = RunRecord::read(&interrupted(scratch.path(), 1), &Origin::default());
    assert!(matches!(refused, Err(RecordError::Incomplete { .. })), "{refused:?}");
}

#[test]
fn a_job_has_one_run() {
    let scratch = tempfile::tempdir().unwrap();
    let origin = Origin { job: Some(("nightly".into(), "0123".into())), ..Origin::default() };
    let read = |day| RunRecord::read(&run_folder(scratch.path(), day), &origin).unwrap();
    let (first, second) = (read(1), read(2));
    let mut store = store(scratch.path());
    store.ingest(&first).unwrap();
    let refused = store.ingest(&second).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Taken { other, .. } if *other == first.digest),
        "{refused}"
    );
    assert_eq!(store.jobs("nightly").unwrap(), ["0123"]);
    assert_eq!(store.counts().unwrap().0, 1);
}

#[test]
fn a_database_of_a_later_program_is_left_alone() {
    let scratch = tempfile::tempdir().unwrap();
    drop(store(scratch.path()));
    let file = scratch.path().join("results.sqlite");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("INSERT INTO netanvil_schema (version) VALUES (99)", ()).unwrap();
    drop(connection);
    let refused = Store::open(file.to_str().unwrap()).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, .. }), "{refused}");
}

#[test]
fn figures_stand_in_the_order_of_their_runs_whatever_the_order_of_ingestion() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = store(scratch.path());
    for day in [30, 2, 17, 9] {
        let record = RunRecord::read(&run_folder(scratch.path(), day), &Origin::default()).unwrap();
        store.ingest(&record).unwrap();
    }
    let filter = Filter { figure: Some("throughput".into()), ..Filter::default() };
    let found = trends(&mut store, &filter).unwrap();
    let days: Vec<&str> = found[0].points.iter().map(|point| &point.started[..10]).collect();
    assert_eq!(days, ["2026-01-03", "2026-01-10", "2026-01-18", "2026-02-03"]);
    assert!(found[0].groups(By::Kernel).len() <= 1);
    let none = Filter { device: Some("another".into()), ..Filter::default() };
    assert!(trends(&mut store, &none).unwrap().is_empty());
}

/// So many nights of one job, the last fifth of which are 3 % slower.
fn nights(store: &mut Store, count: u32) {
    let scratch = tempfile::tempdir().unwrap();
    let first = RunRecord::read(&run_folder(scratch.path(), 0), &Origin::default()).unwrap();
    for night in 0..count {
        let mut record = first.clone();
        record.digest = format!("{night:064}");
        record.started_unix_s += i64::from(night) * 86_400;
        let noise = [-0.3, 0.1, 0.4, -0.1, 0.2, -0.2, 0.0, 0.3][night as usize * 7 % 8];
        let level = if night < count / 5 * 4 { 1.0 } else { 0.97 };
        for figure in &mut record.figures {
            figure.value = figure.value.map(|value| value * (level + noise / 100.0));
            figure.relation = "equal".into();
        }
        assert_eq!(store.ingest(&record).unwrap(), Ingested::New);
    }
}

/// All figures on one page. Their changes were looked for when the last night was taken in.
#[test]
fn a_page_of_a_thousand_runs_takes_less_than_a_second() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = store(scratch.path());
    nights(&mut store, 1_000);
    assert_eq!(store.counts().unwrap().0, 1_000);
    let all = store.series(&Filter::default()).unwrap();
    look_for_changes(&mut store, &all.iter().map(|it| it.id.clone()).collect()).unwrap();
    let began = Instant::now();
    let trends = trends(&mut store, &Filter::default()).unwrap();
    let page = report::html::history(&fleet::history::to_page("nights", &trends, By::Run));
    let took = began.elapsed();
    println!("{} figures, {} bytes: {took:?}", trends.len(), page.len());
    let changed = trends.iter().filter(|trend| trend.changes.iter().any(|it| it.runs.0 == 800));
    assert!(changed.count() >= 1, "{:?}", trends.iter().map(|it| &it.changes).collect::<Vec<_>>());
    // A program that checks its own arithmetic takes about three times as long.
    let most = if cfg!(debug_assertions) { 3.0 } else { 1.0 };
    assert!(took.as_secs_f64() < most, "{} figures took {took:?}", trends.len());
}

/// What was looked for once is looked for again as soon as there are more values, in whatever place.
#[test]
fn changes_that_are_kept_are_those_of_the_values_that_are_there() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = store(scratch.path());
    let filter = Filter { figure: Some("throughput".into()), ..Filter::default() };
    let told = |store: &mut Store| {
        let told = trends(store, &filter).unwrap();
        let fresh: Vec<Trend> =
            told.iter().map(|it| Trend::of(it.points.clone(), it.series.clone())).collect();
        assert_eq!(told, fresh);
        assert_eq!(told, trends(store, &filter).unwrap());
        told[0].changes.len()
    };
    nights(&mut store, 60);
    assert_eq!(told(&mut store), 1);
    let folder = tempfile::tempdir().unwrap();
    let earlier = RunRecord::read(&run_folder(folder.path(), 0), &Origin::default()).unwrap();
    for night in 0..12 {
        let mut record = earlier.clone();
        record.digest = format!("earlier {night}");
        record.started_unix_s -= 86_400 * (1 + night);
        for figure in &mut record.figures {
            figure.value = figure.value.map(|value| value * 0.9);
            figure.relation = "equal".into();
        }
        store.ingest(&record).unwrap();
    }
    assert_eq!(told(&mut store), 2);
}
