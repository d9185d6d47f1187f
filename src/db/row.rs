//! Reads columns by name, with errors that name the column and never its value.

use crate::db::error::DbError;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

/// One column of a row.
///
/// # Errors
///
/// [`DbError::Decode`] when the column is not there or holds another type.
pub fn column<'a, T: FromSql<'a>>(row: &'a Row, column: &'static str) -> Result<T, DbError> {
    row.try_get(column).map_err(|_| DbError::Decode { column })
}

/// A text column that spells one of an enum's variants.
///
/// # Errors
///
/// [`DbError::Decode`] when it spells none of them.
pub fn spelled<T>(row: &Row, name: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, DbError> {
    parse(column(row, name)?).ok_or(DbError::Decode { column: name })
}

/// Exactly one row was to be changed.
///
/// # Errors
///
/// [`DbError::LostRace`] when it was another number.
pub fn one(rows: u64) -> Result<(), DbError> {
    if rows == 1 { Ok(()) } else { Err(DbError::LostRace) }
}
