//! Where figures are kept: one schema, in SQLite or in PostgreSQL.
//!
//! A run is one transaction and is known by the digest of its events, so that it may be ingested as often as one
//! likes, by several programs, and again after a connection broke in the middle.

mod postgres;
mod schema;
mod sqlite;
mod tls;

use crate::record::{FigureRecord, RunRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A database that does not do what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened or reached.
    #[error("cannot open the database {place}: {detail}")]
    Open {
        /// Where, without a password.
        place: String,
        /// What was said.
        detail: String,
    },
    /// It refused, or went away and did not come back.
    #[error("the database: {0}")]
    Failed(String),
    /// A later program has changed it.
    #[error("the database has version {found} of its tables; this program knows {known}")]
    Newer {
        /// What it has.
        found: i64,
        /// What this program writes.
        known: i64,
    },
    /// A job cannot have come to two results.
    #[error("job {job} of campaign {campaign} has another run in the database: {other}")]
    Taken {
        /// Which campaign.
        campaign: String,
        /// Which job.
        job: String,
        /// Digest of the run that is there.
        other: String,
    },
}

/// Whether an ingested run was new.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ingested {
    /// It is kept now.
    New,
    /// It was there already.
    Known,
}

/// A value of a database.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Value {
    fn optional_text(text: &Option<String>) -> Value {
        text.clone().map_or(Value::Null, Value::Text)
    }
    fn optional_real(value: Option<f64>) -> Value {
        value.map_or(Value::Null, Value::Real)
    }
    fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        }
    }
    fn integer(&self) -> i64 {
        match self {
            Value::Integer(number) => *number,
            _ => 0,
        }
    }
    fn real(&self) -> Option<f64> {
        match self {
            Value::Real(number) => Some(*number),
            // SQLite keeps what is whole as it likes.
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }
}

pub(crate) type Row = Vec<Value>;

/// What went wrong within a transaction.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection is gone, or the server asks to try again.
    Again(String),
    /// Trying again changes nothing.
    Final(StoreError),
}

/// Statements within a transaction. Both databases number parameters `$1`, `$2`, ... in the order in which they
/// first appear.
pub(crate) trait Sql {
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Trouble>;
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Trouble>;
    /// Several statements without parameters.
    fn batch(&mut self, sql: &str) -> Result<(), Trouble>;
}

pub(crate) type Work<'a> = &'a mut dyn FnMut(&mut dyn Sql) -> Result<(), Trouble>;

/// A database: everything happens in transactions, each done once and whole, or not at all.
pub(crate) trait Database {
    fn transact(&mut self, work: Work<'_>) -> Result<(), StoreError>;
    /// A statement that keeps other programs from changing tables until the transaction ends.
    fn lock(&self) -> &'static str;
}

/// An open database.
pub struct Store {
    database: Box<dyn Database>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

/// Whether a place is one of PostgreSQL's.
pub fn is_server(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// Which runs and figures are asked for; what is `None` may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Of a campaign.
    pub campaign: Option<String>,
    /// Of a device.
    pub device: Option<String>,
    /// In a configuration.
    pub configuration: Option<String>,
    /// Of a test.
    pub test: Option<String>,
    /// Of a frame size.
    pub size: Option<String>,
    /// Of a name.
    pub figure: Option<String>,
}

/// What a series tells of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Its digest.
    pub id: String,
    /// The device.
    pub device: String,
    /// Its configuration.
    pub configuration: String,
    /// The test.
    pub test: String,
    /// The frame size.
    pub frame_size: String,
    /// All other conditions, in words.
    pub conditions: String,
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
}

/// A figure of a series in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Of which run.
    pub run: String,
    /// When that began, RFC 3339.
    pub started: String,
    /// The same in seconds since 1970.
    pub started_unix_s: i64,
    /// By which program and version.
    pub program: String,
    /// On which kernel.
    pub kernel: String,
    /// On which host.
    pub host: String,
    /// Digest of the methods' configuration.
    pub method_digest: String,
    /// Digest of the device's set-up.
    pub device_digest: String,
    /// Where its folder was.
    pub folder: String,
    /// The number.
    pub value: Option<f64>,
    /// What it says of the truth.
    pub relation: String,
    /// The truth is no less.
    pub low: Option<f64>,
    /// The truth is no more.
    pub high: Option<f64>,
    /// Why there is no valid result; empty where there is one.
    pub invalid: String,
    /// Why the truth is not known better.
    pub reason: String,
}

impl Store {
    /// Opens a database: a file of SQLite, which is made if it is missing, or a URL of PostgreSQL. Its tables are
    /// brought to this program's version.
    ///
    /// # Errors
    /// If it cannot be reached or is of a later program.
    pub fn open(place: &str) -> Result<Store, StoreError> {
        let database: Box<dyn Database> = match is_server(place) {
            true => Box::new(postgres::Server::connect(place)?),
            false => Box::new(sqlite::File::open(Path::new(place))?),
        };
        let mut store = Store { database };
        store.migrate()?;
        Ok(store)
    }

    fn migrate(&mut self) -> Result<(), StoreError> {
        let lock = self.database.lock();
        self.database.transact(&mut |sql| {
            sql.batch(lock)?;
            sql.batch(schema::VERSIONS)?;
            let rows = sql.query("SELECT MAX(version) FROM netanvil_schema", &[])?;
            let found = rows.first().map_or(0, |row| row[0].integer());
            let known = schema::MIGRATIONS.len() as i64;
            if found > known {
                return Err(Trouble::Final(StoreError::Newer { found, known }));
            }
            for (version, migration) in (1..).zip(schema::MIGRATIONS).skip(found as usize) {
                sql.batch(migration)?;
                let insert = "INSERT INTO netanvil_schema (version) VALUES ($1)";
                sql.execute(insert, &[Value::Integer(version)])?;
            }
            Ok(())
        })
    }

    /// Keeps a run; one that is there already stays as it is.
    ///
    /// # Errors
    /// If the database fails, or the run's job has another run there.
    pub fn ingest(&mut self, run: &RunRecord) -> Result<Ingested, StoreError> {
        let mut ingested = Ingested::Known;
        self.database.transact(&mut |sql| {
            ingested = match sql.execute(schema::INSERT_RUN, &run_values(run))? {
                0 => Ingested::Known,
                _ => Ingested::New,
            };
            match ingested {
                Ingested::Known => check_same(sql, run),
                Ingested::New => insert_figures(sql, &run.digest, run),
            }
        })?;
        Ok(ingested)
    }

    /// Jobs of a campaign whose runs are kept.
    ///
    /// # Errors
    /// If the database fails.
    pub fn jobs(&mut self, campaign: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.query(
            "SELECT job FROM netanvil_run WHERE campaign = $1 AND job IS NOT NULL ORDER BY job",
            &[Value::Text(campaign.into())],
        )?;
        Ok(rows.iter().map(|row| row[0].text()).collect())
    }

    /// Runs and figures that are kept.
    ///
    /// # Errors
    /// If the database fails.
    pub fn counts(&mut self) -> Result<(u64, u64), StoreError> {
        let sql =
            "SELECT (SELECT COUNT(*) FROM netanvil_run), (SELECT COUNT(*) FROM netanvil_figure)";
        let rows = self.query(sql, &[])?;
        Ok(rows.first().map_or((0, 0), |row| (row[0].integer() as u64, row[1].integer() as u64)))
    }

    /// The series of which there are figures, in the order of their words.
    ///
    /// # Errors
    /// If the database fails.
    pub fn series(&mut self, filter: &Filter) -> Result<Vec<Series>, StoreError> {
        let (condition, values) = filter.as_sql();
        let rows =
            self.query(&format!("{}{condition}{}", schema::SERIES, schema::SERIES_ORDER), &values)?;
        let series = rows.iter().map(|row| {
            let text = |at: usize| row[at].text();
            Series {
                id: text(0),
                device: text(1),
                configuration: text(2),
                test: text(3),
                frame_size: text(4),
                conditions: text(5),
                figure: text(6),
                unit: text(7),
            }
        });
        Ok(series.collect())
    }

    /// The figures of a series, the oldest first.
    ///
    /// # Errors
    /// If the database fails.
    pub fn points(&mut self, series: &str) -> Result<Vec<Point>, StoreError> {
        let rows = self.query(schema::POINTS, &[Value::Text(series.into())])?;
        Ok(rows.iter().map(point).collect())
    }

    /// Where a series changes, if that was looked for when its values had this digest.
    pub(crate) fn changes(
        &mut self,
        series: &str,
        digest: &str,
    ) -> Result<Option<Vec<usize>>, StoreError> {
        let rows =
            self.query(schema::CHANGES, &[series, digest].map(|it| Value::Text(it.into())))?;
        let places = |row: &Row| {
            row[0].text().split_terminator(' ').map(str::parse).collect::<Result<_, _>>()
        };
        // What cannot be read is looked for again.
        Ok(rows.first().and_then(|row| places(row).ok()))
    }

    /// Keeps where a series changes while its values have this digest.
    pub(crate) fn keep_changes(
        &mut self,
        series: &str,
        digest: &str,
        places: &[usize],
    ) -> Result<(), StoreError> {
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        let values = [series, digest, &places.join(" ")].map(|it| Value::Text(it.into()));
        self.database.transact(&mut |sql| sql.execute(schema::KEEP_CHANGES, &values).map(|_| ()))
    }

    fn query(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut rows = vec![];
        self.database.transact(&mut |sql| {
            rows = sql.query(statement, values)?;
            Ok(())
        })?;
        Ok(rows)
    }
}

impl Filter {
    fn as_sql(&self) -> (String, Vec<Value>) {
        let columns = [
            ("s.device", &self.device),
            ("s.configuration", &self.configuration),
            ("s.test", &self.test),
            ("s.frame_size", &self.size),
            ("s.figure", &self.figure),
        ];
        let (mut parts, mut values) = (vec![], vec![]);
        for (column, wanted) in columns {
            if let Some(wanted) = wanted {
                values.push(Value::Text(wanted.clone()));
                parts.push(format!("{column} = ${}", values.len()));
            }
        }
        if let Some(campaign) = &self.campaign {
            values.push(Value::Text(campaign.clone()));
            parts.push(format!(
                "EXISTS (SELECT 1 FROM netanvil_figure f JOIN netanvil_run r ON r.digest = f.run \
                 WHERE f.series = s.id AND r.campaign = ${})",
                values.len()
            ));
        }
        match parts.is_empty() {
            true => (String::new(), values),
            false => (format!(" WHERE {}", parts.join(" AND ")), values),
        }
    }
}

fn point(row: &Row) -> Point {
    let text = |at: usize| row[at].text();
    Point {
        run: text(0),
        started: text(1),
        started_unix_s: row[2].integer(),
        program: text(3),
        kernel: text(4),
        host: text(5),
        method_digest: text(6),
        device_digest: text(7),
        folder: text(8),
        value: row[9].real(),
        relation: text(10),
        low: row[11].real(),
        high: row[12].real(),
        invalid: text(13),
        reason: text(14),
    }
}

fn run_values(run: &RunRecord) -> [Value; 17] {
    let text = |text: &str| Value::Text(text.to_owned());
    [
        text(&run.digest),
        Value::optional_text(&run.campaign),
        Value::optional_text(&run.job),
        Value::Integer(run.repetition.into()),
        text(&run.device),
        text(&run.device_in_words),
        text(&run.configuration),
        text(&run.program),
        text(&run.host),
        text(&run.kernel),
        text(&run.started),
        Value::Integer(run.started_unix_s),
        text(&run.method_digest),
        text(&run.device_digest),
        text(&run.environment),
        text(&run.folder),
        text(&run.notices),
    ]
}

/// A run that was not inserted is there, or another one has its job.
fn check_same(sql: &mut dyn Sql, run: &RunRecord) -> Result<(), Trouble> {
    let digest = [Value::Text(run.digest.clone())];
    if !sql.query("SELECT 1 FROM netanvil_run WHERE digest = $1", &digest)?.is_empty() {
        return Ok(());
    }
    let key = [Value::optional_text(&run.campaign), Value::optional_text(&run.job)];
    let other = "SELECT digest FROM netanvil_run WHERE campaign = $1 AND job = $2";
    let rows = sql.query(other, &key)?;
    Err(Trouble::Final(StoreError::Taken {
        campaign: run.campaign.clone().unwrap_or_default(),
        job: run.job.clone().unwrap_or_default(),
        other: rows
            .first()
            .map_or("another program has just removed it".into(), |row| row[0].text()),
    }))
}

fn insert_figures(sql: &mut dyn Sql, digest: &str, run: &RunRecord) -> Result<(), Trouble> {
    // In one order everywhere: programs that ingest at the same time do not wait for each other in a circle.
    let series: BTreeMap<&str, &FigureRecord> =
        run.figures.iter().map(|figure| (&*figure.series, figure)).collect();
    let text = |text: &str| Value::Text(text.to_owned());
    for (id, figure) in series {
        let values = [
            text(id),
            text(&run.device),
            text(&run.configuration),
            text(&figure.test),
            text(&figure.frame_size),
            text(&figure.conditions),
            text(&figure.name),
            text(&figure.unit),
        ];
        sql.execute(schema::INSERT_SERIES, &values)?;
    }
    for (ordinal, figure) in (0..).zip(&run.figures) {
        let values = [
            text(digest),
            Value::Integer(ordinal),
            text(&figure.series),
            Value::optional_real(figure.value),
            text(&figure.relation),
            Value::optional_real(figure.low),
            Value::optional_real(figure.high),
            text(&figure.basis),
            text(&figure.reason),
            text(&figure.invalid),
            text(&figure.deviations),
            Value::Real(figure.theoretical_fps),
            Value::optional_real(figure.tester_fps),
        ];
        sql.execute(schema::INSERT_FIGURE, &values)?;
    }
    Ok(())
}
