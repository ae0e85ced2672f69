//! A file of SQLite: what a campaign has where nobody says otherwise.

use super::{Database, Row, Sql, StoreError, Trouble, Value, Work};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior, params_from_iter};
use std::path::Path;
use std::time::Duration;

/// Another program that writes is waited for so long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct File {
    connection: Connection,
}

impl File {
    pub fn open(path: &Path) -> Result<File, StoreError> {
        let place = path.display().to_string();
        let failed = |error: rusqlite::Error| StoreError::Open {
            place: place.clone(),
            detail: error.to_string(),
        };
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // A transaction that has ended is on the disk.
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        Ok(File { connection })
    }
}

fn trouble(error: rusqlite::Error) -> Trouble {
    Trouble::Final(StoreError::Failed(error.to_string()))
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Value::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

impl Sql for Transaction<'_> {
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Trouble> {
        let mut statement = self.prepare_cached(sql).map_err(trouble)?;
        Ok(statement.execute(params_from_iter(values)).map_err(trouble)? as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Trouble> {
        let mut statement = self.prepare_cached(sql).map_err(trouble)?;
        let columns = statement.column_count();
        let row =
            |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get_ref(at).map(value)).collect();
        let rows = statement.query_map(params_from_iter(values), row).map_err(trouble)?;
        rows.collect::<rusqlite::Result<_>>().map_err(trouble)
    }

    fn batch(&mut self, sql: &str) -> Result<(), Trouble> {
        self.execute_batch(sql).map_err(trouble)
    }
}

fn value(of: ValueRef<'_>) -> Value {
    match of {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Value::Text(String::from_utf8_lossy(text).into_owned())
        }
    }
}

impl Database for File {
    fn transact(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::Failed(error.to_string());
        // Immediate: who reads first and writes then may be refused while another waits.
        let behavior = TransactionBehavior::Immediate;
        let mut transaction =
            self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        match work(&mut transaction) {
            Ok(()) => transaction.commit().map_err(failed),
            Err(Trouble::Final(error)) => Err(error),
            Err(Trouble::Again(why)) => Err(StoreError::Failed(why)),
        }
    }

    fn lock(&self) -> &'static str {
        // The transaction holds it.
        ""
    }
}
