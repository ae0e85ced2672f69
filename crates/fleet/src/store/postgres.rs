//! PostgreSQL: what a team has. A server that is restarted is waited for, and the transaction is done again.

use super::tls::Tls;
use super::{Database, Row, Sql, StoreError, Trouble, Value, Work};
use bytes::BytesMut;
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Statement, Transaction};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A server that went away is waited for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first wait, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
    place: String,
    client: Option<(Client, Statements)>,
}

type Statements = BTreeMap<String, Statement>;

impl Server {
    /// The first connection is not waited for: as a rule the address is wrong.
    pub fn connect(url: &str) -> Result<Server, StoreError> {
        let place = without_password(url);
        let failed = |detail: String| StoreError::Open { place: place.clone(), detail };
        let (tls, url) = Tls::split(url).map_err(&failed)?;
        let tls = tls.connector().map_err(&failed)?;
        let mut config: Config = url.parse().map_err(|error| failed(words(&error)))?;
        config.connect_timeout(CONNECT_WITHIN);
        if config.get_application_name().is_none() {
            config.application_name("netanvil");
        }
        let client = config.connect(tls.clone()).map_err(|error| failed(words(&error)))?;
        Ok(Server { config, tls, place: place.clone(), client: Some((client, Statements::new())) })
    }

    fn attempt(&mut self, work: &mut Work<'_>) -> Result<(), Trouble> {
        if self.client.is_none() {
            let client = self.config.connect(self.tls.clone()).map_err(trouble)?;
            self.client = Some((client, Statements::new()));
        }
        let Some((client, statements)) = &mut self.client else { return Ok(()) };
        let transaction = client.transaction().map_err(trouble)?;
        let mut session = Session { transaction, statements };
        work(&mut session)?;
        // A commit whose answer was lost is done again: whatever is done here may be done twice.
        session.transaction.commit().map_err(trouble)
    }
}

/// An address for messages.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let Some((user, host)) = rest.split_once('@') else { return url.to_owned() };
    format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
}

/// An error with its cause, which says what the server said.
fn words(error: &postgres::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn trouble(error: postgres::Error) -> Trouble {
    const AGAIN: [SqlState; 6] = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    let is_gone = error.is_closed() || has_io_error(&error);
    match is_gone || error.code().is_some_and(|code| AGAIN.contains(code)) {
        true => Trouble::Again(words(&error)),
        false => Trouble::Final(StoreError::Failed(words(&error))),
    }
}

/// A connection that broke, or that nobody answered.
fn has_io_error(error: &postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

struct Session<'a, 'b> {
    transaction: Transaction<'a>,
    statements: &'b mut Statements,
}

impl Session<'_, '_> {
    /// Read by the server once for each connection.
    fn statement(&mut self, sql: &str) -> Result<Statement, Trouble> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.transaction.prepare(sql).map_err(trouble)?;
        self.statements.insert(sql.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Sql for Session<'_, '_> {
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Trouble> {
        let statement = self.statement(sql)?;
        self.transaction.execute(&statement, &parameters(values)).map_err(trouble)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Trouble> {
        let statement = self.statement(sql)?;
        let rows = self.transaction.query(&statement, &parameters(values)).map_err(trouble)?;
        rows.iter().map(|row| (0..row.len()).map(|at| value(row, at)).collect()).collect()
    }

    fn batch(&mut self, sql: &str) -> Result<(), Trouble> {
        self.transaction.batch_execute(sql).map_err(trouble)
    }
}

fn value(row: &postgres::Row, at: usize) -> Result<Value, Trouble> {
    let of = row.columns()[at].type_().clone();
    let value = match of {
        Type::INT8 => row.try_get::<_, Option<i64>>(at).map(|it| it.map(Value::Integer)),
        Type::INT4 => {
            row.try_get::<_, Option<i32>>(at).map(|it| it.map(|it| Value::Integer(it.into())))
        }
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(at).map(|it| it.map(Value::Real)),
        _ => row.try_get::<_, Option<String>>(at).map(|it| it.map(Value::Text)),
    };
    Ok(value.map_err(trouble)?.unwrap_or(Value::Null))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql_checked(of, out),
            Value::Real(number) => number.to_sql_checked(of, out),
            Value::Text(text) => text.to_sql_checked(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each variant asks for itself.
        true
    }

    to_sql_checked!();
}

impl Database for Server {
    fn transact(&mut self, mut work: Work<'_>) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut wait = WAITS.0;
        loop {
            let why = match self.attempt(&mut work) {
                Ok(()) => return Ok(()),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Again(why)) => why,
            };
            if self.client.as_ref().is_none_or(|(client, _)| client.is_closed()) {
                self.client = None;
            }
            if began.elapsed() > PATIENCE {
                let waited = began.elapsed().as_secs();
                return Err(StoreError::Failed(format!(
                    "{}: {why}; gave up after {waited} s",
                    self.place
                )));
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(WAITS.1);
        }
    }

    fn lock(&self) -> &'static str {
        // "netanvil", so that nobody else's lock is meant.
        "SELECT pg_advisory_xact_lock(7955998170729676140)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_told() {
        assert_eq!(without_password("postgres://lab:secret@db/x"), "postgres://lab@db/x");
        assert_eq!(without_password("postgres://db/x"), "postgres://db/x");
    }
}
