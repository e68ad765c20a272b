/** Every number that the specification or we fix, with its source. Units are in the names. */

/** Requests per fixed window of one API key. (spec: Limits, "API requests"; the number is configurable for tests) */
export const API_WINDOW_SECONDS = 60

/** (decisions: Conventions of the API) */
export const LIST_LIMIT_DEFAULT = 20
export const LIST_LIMIT_MAX = 100

/**
 * Rows of an index that one statement looks through, of a page of events or deliveries whose filter has no index of its
 * own: then the page is short, and its cursor goes on. Ours.
 */
export const PAGE_READ_ROWS = 4_000

/** (decisions: Conventions of the API) */
export const NAME_LENGTH_MAX = 100
export const METADATA_KEYS_MAX = 50
export const METADATA_VALUE_LENGTH_MAX = 500
export const API_BODY_BYTES_MAX = 1024 * 1024

/** Bodies at `/auth` and at the public endpoints of connectors, which are read of anybody. Ours. */
export const PUBLIC_BODY_BYTES_MAX = 16 * 1024

/** (decisions: Conventions of the API, `Idempotency-Key`) */
export const IDEMPOTENCY_HOURS = 24
export const IDEMPOTENCY_WAIT_MS = 10_000
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255

/** Longer than any action takes (a test delivery: 60 s); then the key of a request whose process died is free. Ours. */
export const IDEMPOTENCY_CLAIM_MS = 90_000

/**
 * Searches, counts and statistics: database connections of an API process for them, how many an organisation has under way
 * in one, and how many of it may wait. Ours.
 */
export const READS_POOL = 4
export const READS_PER_ORGANISATION = 2
export const READS_WAITING_MAX = 20

/**
 * Answers that show a body of more bytes than the first number: how many an API process gives at once, and an organisation in
 * one; how many of it may wait; and the rate at which a client has to take one, in each so many seconds. Ours.
 */
export const SMALL_BODY_BYTES_MAX = 64 * 1024
export const ANSWERS_PER_PROCESS = 16
export const ANSWERS_PER_ORGANISATION = 2
export const ANSWERS_WAITING_MAX = 20
export const ANSWER_BYTES_PER_SECOND_MIN = 64 * 1024
export const ANSWER_RATE_SECONDS = 10

/** Bytes of a body that `GET /v1/events/{id}` shows of it alone where it is asked to. Ours. */
export const BODY_START_BYTES_MAX = 64 * 1024

/** An event loop that stands still for longer is counted and logged; no input may hold one for half of it. Ours. */
export const LOOP_STALL_MS = 100

/** Faults that a refusal names, and characters of a path or a message in it. Ours. */
export const FAULTS_MAX = 20
export const FAULT_LENGTH_MAX = 255

/** Values in the body of a management request: members, items and what they hold. Ours. */
export const API_BODY_VALUES_MAX = 25_000

/** An answer that is kept for an `Idempotency-Key`. Ours. */
export const IDEMPOTENT_ANSWER_BYTES_MAX = 1024 * 1024

/** Event streams and test deliveries of one organisation, of those that a process has. Ours. */
export const STREAMS_PER_PROCESS = 256
export const STREAMS_PER_ORGANISATION = 64
export const TESTS_PER_PROCESS = 64
export const TESTS_PER_ORGANISATION = 8

/**
 * Samples that people have sent to a source: so many at once and then one in an interval; how long ingest may take to answer
 * one, and how long a refusal may be. Ours.
 */
export const SAMPLES_BURST = 5
export const SAMPLE_SECONDS = 10
export const SAMPLE_TIMEOUT_MS = 10_000
export const SAMPLE_ANSWER_BYTES_MAX = 16 * 1024

/** Keys that an ingest or API process fetches at once to verify requests, and those of one organisation. Ours. */
export const KEY_FETCHES_PER_PROCESS = 128
export const KEY_FETCHES_PER_ORGANISATION = 16

/** (spec: GET /v1/events, "search") */
export const SEARCH_LENGTH_MAX = 255

/**
 * Limits of reading a request: bytes of its request line and headers, the time for these, and the time
 * for all of it, at ingest and at the API. (decisions: Reading a request; the times are ours)
 */
export const HEADER_BYTES_MAX = 16 * 1024
export const HEADERS_TIMEOUT_MS = 15_000
export const INGEST_REQUEST_TIMEOUT_MS = 60_000
export const API_REQUEST_TIMEOUT_MS = 30_000

/**
 * Bodies that ingest receives at once, in memory: all of them, and past half of that those of one source and of one
 * organisation. A slower body is given up. Ours.
 */
export const READING_BYTES_MAX = 256 * 1024 * 1024
export const READING_SOURCE_BYTES = 64 * 1024 * 1024
export const READING_ORGANISATION_BYTES = 192 * 1024 * 1024
export const BODY_RATE_SECONDS = 10
export const BODY_BYTES_PER_SECOND_MIN = 500

/**
 * The listener of mail: connections, all of them, those of one address and those of one network (/24, /48); seconds in which
 * a sender may say nothing, have no message under way, and for one message; recipients of a message; refused ones of a
 * connection; a command. Ours.
 */
export const SMTP_CONNECTIONS_MAX = 500
export const SMTP_CONNECTIONS_PER_ADDRESS = 10
export const SMTP_CONNECTIONS_PER_NETWORK = 50
export const SMTP_IDLE_SECONDS = 30
export const SMTP_WITHOUT_MAIL_SECONDS = 60
export const SMTP_MESSAGE_SECONDS = 300
export const MAIL_RECIPIENTS_MAX = 10
export const SMTP_REFUSED_RECIPIENTS_MAX = 20
export const SMTP_COMMAND_BYTES_MAX = 1_000

/** Headers of a mail, and of each part, in bytes and lines; lines `Received`, past which the mail goes in a circle. Ours. */
export const MAIL_HEAD_BYTES_MAX = 64 * 1024
export const MAIL_HEAD_LINES_MAX = 500
export const MAIL_RECEIVED_MAX = 30

/**
 * Lines of a mail; its parts, how deep they lie, and how many are attachments. The JSON that is made of it. Ours: in the
 * largest mail as many lines have 13 bytes each.
 */
export const MAIL_LINES_MAX = 400_000
export const MAIL_PARTS_MAX = 250
export const MAIL_DEPTH_MAX = 20
export const MAIL_ATTACHMENTS_MAX = 50
export const MAIL_BODY_BYTES_MAX = 8 * 1024 * 1024

/**
 * Bytes of mails that arrive at once or are not answered: all of them, and past half of that those of one source, one
 * organisation and one address of a sender. A slower mail is given up, as a body is. Ours.
 */
export const MAIL_ARRIVING_BYTES_MAX = 64 * 1024 * 1024
export const MAIL_ARRIVING_SOURCE_BYTES = 16 * 1024 * 1024
export const MAIL_ARRIVING_ORGANISATION_BYTES = 48 * 1024 * 1024
export const MAIL_ARRIVING_SENDER_BYTES = 16 * 1024 * 1024

/**
 * Threads that read mails; seconds of processor time after which reading one is given up, for a mail to wait for its turn,
 * and for the names that its authentication looks up; mails of one organisation that are read or wait for it. Ours.
 */
export const MAIL_THREADS = 2
export const MAIL_READ_SECONDS = 3
export const MAIL_TURN_SECONDS = 60
export const MAIL_LOOKUP_SECONDS = 3
export const MAIL_READINGS_PER_ORGANISATION = 50

/** Signatures of DKIM that a mail may have: each costs a look-up. How far ahead of the clock they may be dated. Ours. */
export const MAIL_SIGNATURES_MAX = 10
export const MAIL_SIGNED_AHEAD_SECONDS = 300

/** Units of 1,024 bytes. (decisions: Resources, Source) */
export const PAYLOAD_KB_DEFAULT = 512
export const PAYLOAD_KB_MAX = 5120

/** (decisions: Resources, Source) */
export const IDEMPOTENCY_KEYS_MAX = 5

/** How long the secret before a rotation stays good. (decisions: Rotation, keys, roles) */
export const OVERLAP_SECONDS_DEFAULT = 86_400
export const OVERLAP_SECONDS_MAX = 604_800

/** Body of a test delivery, which travels in one message to a worker. Ours. */
export const TEST_BODY_BYTES_MAX = 512 * 1024

/** (decisions: Resources, Filter) */
export const FILTER_BYTES_MAX = 16 * 1024
export const FILTER_DEPTH_MAX = 10

/** Connections of one source, unless the operator sets another number (`CONNECTIONS_PER_SOURCE`). Ours. */
export const CONNECTIONS_PER_SOURCE = 500

/** Cost of matching an event with all filters of its source, in steps of 50 to 150 ns. Ours. */
export const MATCH_STEPS_MAX = 250_000

/**
 * Bytes hashed to verify one request, over all its signatures, secrets, keys and contents; a public-key operation counts
 * as 128 KiB for a key of 2,048 bits or less, and more with the square of its length. Ours.
 */
export const VERIFY_WORK_BYTES_MAX = 40 * 1024 * 1024

/** Fields of a form: no provider comes near, and sorting them must stay cheap. Ours. */
export const FORM_FIELDS_MAX = 5_000

/** Depth of JSON whose numbers keep their text: JSON.stringify must be able to write it again. Ours. */
export const JSON_DEPTH_MAX = 1_000

/**
 * Cost of parsing the JSON of one body, in some 25 ns: a value 1, an object or array 4, a number with more than 15
 * digits or other signs 4, a name that no object before has at this place 28. Half of it where numbers have to be kept as
 * they were sent. Ours.
 */
export const JSON_COST_MAX = 1_500_000

/** (decisions: Resources, Destination) */
export const DELIVERY_TIMEOUT_MS_DEFAULT = 15_000
export const DELIVERY_TIMEOUT_MS_MIN = 1_000
export const DELIVERY_TIMEOUT_MS_MAX = 60_000
export const DESTINATION_CONCURRENCY_DEFAULT = 32

/**
 * When a look-up of a name is given up, how many an organisation has under way in a worker, and how many names a process
 * keeps the addresses of. Ours.
 */
export const NAME_LOOKUP_MS = 5_000
export const LOOKUPS_PER_ORGANISATION = 64
export const NAMES_KEPT_MAX = 10_000

/** Deliveries that an event may have come through when it is taken. (decisions: Delivery) */
export const HOPS_MAX = 5

/** Bytes of a destination's answer that are stored, and that are read. (decisions: Attempt; architecture: Delivery) */
export const RESPONSE_KEPT_BYTES = 16 * 1024
export const RESPONSE_BYTES_MAX = 1024 * 1024
export const ANSWER_HEADER_BYTES_MAX = 64 * 1024

/** Rejected events stored for one source, and for one organisation in a day: bodies, headers, paths and queries. (decisions: Ingest) */
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

/**
 * Neighbouring partitions over which an organisation without plan pacing is spread, and the most workers that share its
 * deliveries: the fewer, the more deliveries share a message. Ours.
 */
export const PARTITION_SPREAD = 8

/** A payload up to this size travels in the JetStream message. (architecture: Ingest) */
export const MESSAGE_BODY_BYTES_MAX = 64 * 1024

/**
 * Bytes of deliveries in a worker's memory: messages and claimed rows, with their smaller bodies. Past the first limit the
 * worker claims and pulls no more; messages already pulled still arrive. The others bound a claim, a pull for one
 * partition, and the queue of one destination, past which the pull pauses or deliveries are parked. Ours.
 */
export const WORK_BYTES_MAX = 64 * 1024 * 1024
export const CLAIM_BYTES_MAX = 2 * 1024 * 1024
export const PULL_BYTES_MAX = 512 * 1024
export const LANE_BYTES_MAX = 4 * 1024 * 1024

/** Deliveries in a worker's hands past which it takes no message, and at seven eighths of it no due row. Ours. */
export const WORK_MAX = 8_192

/** Attempts that a worker has under way, if the descriptors of its process allow as many. Ours. */
export const SOCKETS_MAX = 8_192

/**
 * Compiled destinations that a worker keeps, some 5 KB each, beside those of its open lanes. Past it the least recently used
 * is read again when its next delivery comes. Ours.
 */
export const DESTINATIONS_MAX = 20_000

/**
 * Bodies larger than `MESSAGE_BODY_BYTES_MAX` that a worker has in memory to send them, over all destinations, for those
 * of an organisation and for one. The others wait in PostgreSQL. Ours.
 */
export const LARGE_BODY_BYTES_MAX = 64 * 1024 * 1024
export const ORGANISATION_LARGE_BODY_BYTES_MAX = 32 * 1024 * 1024
export const LANE_LARGE_BODY_BYTES_MAX = 16 * 1024 * 1024

/** Days of the retention classes that events are partitioned by. (spec: Limits, "Event retention") */
export const RETENTION_CLASSES = [3, 7, 30, 90] as const

/** How long an event is held past its retention while a delivery of it waits. (decisions: Billing and plans, Retention) */
export const RETENTION_GRACE_DAYS = 7

/** The class of events that outlive the longest retention; it has no days. */
export const OVERDUE_CLASS = 97

/** Bulk operations that run in one project at once. Ours. */
export const OPERATIONS_RUNNING_MAX = 10

/** How long a finished operation can be read. Ours. */
export const OPERATION_DAYS = 30

/** Matches that a plan or a new operation counts exactly, and the time for counting. Ours. */
export const MATCHED_MAX = 100_000
export const MATCHED_BUDGET_MS = 2_000

/** Deliveries and events that one transaction of an operation takes. Ours. */
export const OPERATION_CHUNK = 200

/**
 * Deliveries of one operation that wait in lanes at once, so that live ones behind them are not held long: what an
 * unpaced destination takes in about a second, and what a paced plan lets out in five. Ours.
 */
export const OPERATION_WINDOW_MAX = 1_000
export const OPERATION_WINDOW_SECONDS = 5

/** How long counts are kept by the minute, by the hour and by the day. Ours. */
export const ROLLUP_DAYS_OF_MINUTES = 2
export const ROLLUP_DAYS_OF_HOURS = 90
export const ROLLUP_DAYS_OF_DAYS = 730

/** Buckets of time in one answer of the dashboard, and times their groups. Ours. */
export const DASHBOARD_BUCKETS_MAX = 1_000
export const DASHBOARD_ROWS_MAX = 10_000

/**
 * When a destination that fails every attempt shows as `failing`, when it is disabled, and at which parts of that time
 * its owner is told. (decisions: Delivery, "failing"; the minutes are ours)
 */
export const FAILING_MINUTES = 5
export const FAILING_DAYS = 5
export const FAILING_NOTICE_PERCENTS = [50, 70, 90, 100] as const

/** A failure after a silence of this length begins a new run: the longest pause of a retry policy. Ours. */
export const FAILING_SILENCE_DAYS = 7

/** How long operational events are kept. Ours. */
export const OPERATIONAL_EVENT_DAYS = 90

/**
 * Connectors: bytes of request bodies that a gateway and its agents hold, all of them and those of one organisation; sessions
 * of a gateway, and those that an organisation may have for each that is free; dials of one address to a gateway. Ours.
 */
export const TUNNEL_BODY_BYTES = 256 * 1024 * 1024
export const TUNNEL_ORGANISATION_BODY_BYTES = 64 * 1024 * 1024
export const GATEWAY_SESSIONS_MAX = 10_000
export const GATEWAY_SESSIONS_PER_FREE = 3
export const DIALS_PER_SECOND = 50
export const DIALS_BURST = 200

/** (spec: Limits, "Public connector endpoints", "Bootstrap", "Heartbeat") */
export const PUBLIC_REQUESTS_PER_SECOND = 5
export const PUBLIC_REQUESTS_BURST = 20
export const BOOTSTRAP_SECONDS = 5
export const HEARTBEAT_SECONDS = 1

/**
 * How often a replica is told to report, and how many reports a second come from one address at most: half of what the
 * limit allows. Ours.
 */
export const HEARTBEAT_INTERVAL_SECONDS = 15
export const ADDRESS_HEARTBEATS_PER_SECOND = 2.5

/** Hosts that a connector can be narrowed to. Ours. */
export const ALLOWED_HOSTS_MAX = 100
export const ALLOWED_HOST_LENGTH_MAX = 300

/** How long a revoked token is answered with its reason (decisions), and a silent replica kept (ours). */
export const REVOKED_TOKEN_DAYS = 30
export const SILENT_REPLICA_DAYS = 7

/** Days that a session lasts after its last request, and in all. (decisions: Accounts, dashboard, agents; ours) */
export const SESSION_DAYS = 7
export const SESSION_DAYS_MAX = 30

/** Sessions of one person; past it the oldest ends. Ours. */
export const SESSIONS_PER_PERSON = 50

/** Minutes after which a person is asked for the password again before a secret is shown or made. Ours. */
export const PASSWORD_FRESH_MINUTES = 15

/** Characters of a password. Ours. */
export const PASSWORD_LENGTH_MIN = 8
export const PASSWORD_LENGTH_MAX = 256

/** Passwords that a process hashes at once, 19 MiB each, and those that may wait for it. Ours. */
export const PASSWORD_HASHES_AT_ONCE = 2
export const PASSWORD_HASHES_WAITING_MAX = 100

/**
 * Attempts to sign in to one account: so many at once, then one in so many seconds. All strangers share them; each browser that
 * signed in before and each session has as many of its own. Ours.
 */
export const SIGN_INS_PER_ACCOUNT = 20
export const SIGN_IN_SECONDS_PER_ACCOUNT = 45

/** Days that a browser stays known to an account after it last signed in. Ours. */
export const KNOWN_BROWSER_DAYS = 180

/** Organisations that an IPv4 /24 or IPv6 /48 makes by signing up, in multiples of those of one address. Ours. */
export const SIGN_UPS_OF_NETWORK = 4

/** Days that an organisation that signed up shares what tenants share with the newcomers of its network. Ours. */
export const NEWCOMER_DAYS = 7

/** Days that an invitation can be accepted; hours that a link for the first owner or a new password is good. */
export const INVITATION_DAYS = 7
export const ACCOUNT_LINK_HOURS = 24

/**
 * Mail: what a process sends at once and what may wait for it; milliseconds for each step with the server and for all of
 * a mail; links for an account to one address that one client asks for, so many at once, then one in so many seconds, and those that
 * all clients ask for in an hour; invitations of an organisation in a day, of which one address gets `MAILS_PER_ADDRESS`. Ours.
 */
export const MAILS_AT_ONCE = 4
export const MAILS_WAITING_MAX = 100
export const MAIL_PHASE_MS = 10_000
export const MAIL_TIMEOUT_MS = 15_000
export const MAILS_PER_ADDRESS = 5
export const MAIL_SECONDS_PER_ADDRESS = 600
export const LINK_MAILS_PER_HOUR = 10
export const INVITATION_MAILS_PER_DAY = 20

/** Minutes that a mailed link for a new password is good. Ours. */
export const RESET_MAIL_MINUTES = 60

/**
 * Alerts: minutes after which a subject that flaps is told of again, and minutes without trouble after a start before
 * anything opens. (dashboard: Alerts, Mechanics)
 */
export const ALERT_REPEAT_MINUTES = 30
export const ALERT_SETTLE_MINUTES = 2

/** Minutes without a replica until a connector is told of, and seconds with one until it is well. (dashboard: Alerts) */
export const CONNECTOR_OFFLINE_MINUTES = 5
export const CONNECTOR_ONLINE_SECONDS = 30

/** Parts of a delivery quota that are told of, in percent. (decisions: Accounts, dashboard, agents) */
export const QUOTA_NOTICE_PERCENTS = [80, 100] as const

/**
 * A source is flooded: so many rejections within so many minutes, more than such a part of its requests; it is well when
 * they are below such a part for so many minutes. (dashboard: Alerts)
 */
export const REJECTIONS_MIN = 50
export const REJECTIONS_MINUTES = 5
export const REJECTIONS_PERCENT = 50
export const REJECTIONS_WELL_PERCENT = 10
export const REJECTIONS_WELL_MINUTES = 15

/** Minutes that a due delivery waits until its destination is told of, and until it is well. (dashboard: Alerts) */
export const BACKLOG_MINUTES = 15
export const BACKLOG_WELL_MINUTES = 1

/** Hours before a rotation ends, and within how many the previous secret was used. (dashboard: Alerts; ours) */
export const ROTATION_NOTICE_HOURS = 24
export const ROTATION_USED_HOURS = 1

/** Days that a closed alert can be read, and that a subject can be muted for. Ours. */
export const ALERT_DAYS = 90
export const ALERT_MUTE_DAYS_MAX = 30

/** Subjects of one kind that a look at the signals takes. The next one takes others. Ours. */
export const ALERT_FINDINGS_MAX = 500

/** Notifications shown of each alert. Ours. */
export const ALERT_TELLINGS_SHOWN = 10

/** A sign-in with the provider: minutes that it may take, each request to the provider, and how long its description is kept. Ours. */
export const PROVIDER_FLOW_MINUTES = 10
export const PROVIDER_CLOCK_SECONDS = 60
export const PROVIDER_TIMEOUT_MS = 10_000
export const PROVIDER_KEPT_MS = 3_600_000

/** Calls of an agent's token in a window of `API_WINDOW_SECONDS`. (dashboard: Agents' interface) */
export const AGENT_CALLS_PER_MINUTE = 120

/** Agents of one member that work at once. Ours. */
export const AGENTS_PER_MEMBER = 50

/** Parts of an answer to an agent: bytes of a body, characters of another text, attempts of a delivery, headers. Ours. */
export const AGENT_BODY_BYTES_MAX = 8 * 1024
export const AGENT_TEXT_LENGTH_MAX = 500
export const AGENT_ATTEMPTS_MAX = 10
export const AGENT_HEADERS_MAX = 50

/** How long an agent can wait for an event, and waits of a process and of one organisation in it. Ours. */
export const EVENT_WAIT_SECONDS_MAX = 25
export const EVENT_WAITS_PER_PROCESS = 64
export const EVENT_WAITS_PER_ORGANISATION = 8

/** Times that a mail of an alert is tried, over about six hours. Ours. */
export const ALERT_MAIL_TRIES = 10

/**
 * Mails about alerts to one address: so many at once, then one in so many seconds, which is six in an hour at most. The next has
 * all that came meanwhile. Ours.
 */
export const ALERT_MAILS_PER_ADDRESS = 3
export const ALERT_MAIL_SECONDS_PER_ADDRESS = 1_200
