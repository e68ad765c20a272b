/** Every number that the specification or we fix, with its source. Units are in the names. */

/** Requests per fixed window of one API key. (spec: Limits, "API requests"; the number is configurable for tests) */
export const API_WINDOW_SECONDS = 60

/** (decisions: Conventions of the API) */
export const LIST_LIMIT_DEFAULT = 20
export const LIST_LIMIT_MAX = 100
export const NAME_LENGTH_MAX = 100
export const METADATA_KEYS_MAX = 50
export const METADATA_VALUE_LENGTH_MAX = 500
export const API_BODY_BYTES_MAX = 1024 * 1024

/** (spec: GET /v1/events, "search") */
export const SEARCH_LENGTH_MAX = 255

/** Of 1,024 bytes each. (decisions: Resources, Source) */
export const PAYLOAD_KB_DEFAULT = 512
export const PAYLOAD_KB_MAX = 5120

/** (decisions: Resources, Source) */
export const IDEMPOTENCY_KEYS_MAX = 5

/** (decisions: Resources, Filter) */
export const FILTER_BYTES_MAX = 16 * 1024
export const FILTER_DEPTH_MAX = 10

/** (decisions: Resources, Destination) */
export const DELIVERY_TIMEOUT_MS_DEFAULT = 15_000
export const DELIVERY_TIMEOUT_MS_MIN = 1_000
export const DELIVERY_TIMEOUT_MS_MAX = 60_000
export const DESTINATION_CONCURRENCY_DEFAULT = 32

/** Of a destination's response. (decisions: Attempt; architecture: Delivery) */
export const RESPONSE_KEPT_BYTES = 16 * 1024
export const RESPONSE_BYTES_MAX = 1024 * 1024

/** Rejected events stored for one source, and for one organisation in a day. (decisions: Ingest) */
export const REJECTED_PER_SECOND = 10
export const REJECTED_BURST = 50
export const REJECTED_BYTES_PER_SECOND = 64 * 1024
export const REJECTED_BYTES_BURST = 5 * 1024 * 1024
export const REJECTED_BYTES_PER_DAY = 256 * 1024 * 1024

/** The time a dispatched delivery has before the sweeper may take it. (architecture: Delivery) */
export const LEASE_MS = 15_000

/** An ingest statement that takes longer is given up: the lease and the horizon count on it. (decisions: Statistics and stream) */
export const INGEST_STATEMENT_TIMEOUT_MS = 5_000

/** Partitions of the delivery stream: the unit of ownership among workers. (architecture: Delivery) */
export const PARTITIONS = 64

/** A payload up to this size travels in the JetStream message. (architecture: Ingest) */
export const MESSAGE_BODY_BYTES_MAX = 64 * 1024

/** Days of the retention classes that events are partitioned by. (spec: Limits, "Event retention") */
export const RETENTION_CLASSES = [3, 7, 30, 90] as const
