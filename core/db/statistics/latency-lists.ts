import { sql, type RawBuilder } from 'kysely'

/** Characters from which on a list of arrays is merged before another is added: PostgreSQL would store it outside of its row. */
const LIST_MAX = 1_000

/** Arrays one behind the other, as one: `{1,2}{2}` is `{1,2,2}`. */
function oneArray(list: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`('{' || replace(btrim(${list}, '{}'), '}{', ',') || '}')`
}

/** Rows of `bucket` and `attempts`, each bucket once, of histograms one behind the other. */
function merged(buckets: RawBuilder<unknown>, counts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select bucket, sum(attempts)::bigint as attempts
    from unnest(${oneArray(buckets)}::smallint[], ${oneArray(counts)}::bigint[]) as listed (bucket, attempts)
    group by bucket`
}

/** A row of `buckets` and `counts`, the texts of two arrays in order, both null without any; to be joined laterally. */
export function histogramOf(
  buckets: RawBuilder<unknown>,
  counts: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select array_agg(bucket order by bucket)::text as buckets, array_agg(attempts order by bucket)::text as counts
    from (${merged(buckets, counts)}) as merged`
}

/** The same of buckets alone, each of which counts one attempt: `1,2,2`. */
export function histogramOfEach(buckets: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select array_agg(bucket order by bucket)::text as buckets, array_agg(attempts order by bucket)::text as counts
    from (
      select bucket, count(*) as attempts from unnest(('{' || ${buckets} || '}')::smallint[]) as bucket group by bucket
    ) as counted`
}

/** Sets the histogram of `row` to that of both rows. */
export function mergeHistograms(row: string): RawBuilder<unknown> {
  const both = (column: string): RawBuilder<unknown> =>
    sql`concat(${sql.ref(`${row}.${column}`)}, ${sql.ref(`excluded.${column}`)})`
  return sql`(latency_buckets, latency_counts) = (${histogramOf(both('latency_buckets'), both('latency_counts'))})`
}

/** Sets the histogram of `row` to both, one behind the other, which costs a fold a tenth of merging them. */
export function joinHistograms(row: string): RawBuilder<unknown> {
  const own = (column: string): RawBuilder<unknown> => sql.ref(`${row}.${column}`)
  const isLong = sql`length(${own('latency_buckets')}) > ${sql.lit(LIST_MAX)}`
  const histogram = histogramOf(own('latency_buckets'), own('latency_counts'))
  const joined = (column: string, of: string): RawBuilder<unknown> => sql`
    ${sql.ref(column)} = nullif(concat(
      case when ${isLong} then (select ${sql.ref(of)} from (${histogram}) as short) else ${own(column)} end,
      ${sql.ref(`excluded.${column}`)}), '')`
  return sql`${joined('latency_buckets', 'buckets')}, ${joined('latency_counts', 'counts')}`
}
