import type { ColumnType, JSONColumnType } from 'kysely'

/** A date to read, and ISO text or a date to write. */
export type Time = ColumnType<Date, Date | string, Date | string>

export type Json<T> = JSONColumnType<T & object>
