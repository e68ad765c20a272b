/**
 * Bad values of every setting, the first of which stands for its kind, each with words of its fault. A setting without any
 * fails a test.
 */
export const BAD_VALUES: Readonly<
  Record<string, readonly (readonly [value: string, fault: string])[]>
> = {
  API_PORT: [
    ['70000', 'must be a port from 0 to 65535'],
    ['-1', 'must be a port'],
    ['80a', 'must be a port'],
    ['8080.5', 'must be a port'],
    ['tcp://10.0.0.1:80', 'Kubernetes sets it for a Service'],
  ],
  INGEST_PORT: [
    ['0x50', 'must be a port'],
    ['1e3', 'must be a port'],
  ],
  DATABASE_POOL_MAX: [
    ['10 MB', 'a whole number from 1 to 100'],
    ['0', 'a whole number from 1 to 100'],
  ],
  SMTP_PORT: [['smtp', 'must be a port']],
  SMTP_DOMAIN: [
    ['mail.example.com.', 'must be a domain: mail.example.com'],
    ['x@example.com', 'must be a domain'],
  ],
  SMTP_TLS_CERT_FILE: [['/none/tls.crt', 'there is no such file']],
  SMTP_TLS_KEY_FILE: [['/none/tls.key', 'there is no such file']],
  SPOOL_MAX_MB: [['1GB', 'a whole number from 1 to']],
  SPOOL_REPLICAS: [['2', 'a whole number from 3 to 5']],
  API_REQUESTS_PER_MINUTE: [['many', 'a whole number']],
  HOST: [
    ['everywhere', 'must be an IP address'],
    ['127.0.0.1:80', 'must be an IP address'],
  ],
  TRUSTED_PROXIES: [
    ['10.0.0.1/8', '"10.0.0.1/8" has digits behind its first 8 bits: write 10.0.0.0/8'],
    ['10.0.0.0/33', '"10.0.0.0/33" must be an IP address or a range'],
    ['10.0.0.0/', 'must be an IP address or a range'],
    ['10.0.0/8', 'must be an IP address or a range'],
    ['proxy.example.com', '"proxy.example.com" must be an IP address'],
    ['0.0.0.0/0', 'believes every sender'],
    ['::/0', 'believes every sender'],
    ['fd00::1/8', 'write fd00::/8'],
    ['fd00::/129', 'a range such as fd00::/8'],
    ['fe80::1%eth0', 'must be an IP address'],
  ],
  DELIVERY_ALLOW_CIDRS: [
    ['10.0.0.0/8 192.168.0.0/16', '"10.0.0.0/8 192.168.0.0/16" must be'],
    ['192.168.1.7/24', 'write 192.168.1.0/24'],
  ],
  DATABASE_URL: [
    ['mysql://host/db', 'must begin with postgres://'],
    ['host/db', 'must be a URL such as postgres://'],
    ['postgres://u:%zz@host/db', 'has a % in its user or password'],
    ['postgres://u@host/%zz', 'has a % in the name of its database'],
    ['postgres://u@%zz/db', 'has a % in its host'],
    ['postgres://:hunter2@host/db', 'has a password and no user'],
    ['postgres://host:0/db', 'must name a port from 1'],
    ['postgres://host/db?sslmode=verify-ful', 'has an unknown sslmode: it must be one of disable,'],
    ['postgres://host/db?port=abc', 'has a port in its query that is none'],
    ['postgres://host/db?port=70000', 'has a port in its query that is none'],
    [
      'postgres://host/db?sslrootcert=/none',
      'names the sslrootcert "/none": there is no such file',
    ],
    ['postgres://host/db?sslkey=/', 'names the sslkey "/": is a directory'],
    ['postgres://host/db?sslmode=verify-ca&uselibpqcompat=true', 'needs an sslrootcert'],
  ],
  NATS_URL: [
    ['localhost:4222', 'must begin with nats:// or tls://'],
    ['nats://a:4222,b:4222', 'must be a URL'],
    ['nats://a:4222,http://b:4222', 'must be a URL'],
    ['nats://a:4222,tls://b:4222', 'must name the same scheme, user and password'],
    ['nats://user:hunter2@a,nats://b', 'must name the same scheme, user and password'],
    ['nats://a:4222,nats://b:4222/x', 'must end after the host and the port'],
    ['nats://host:4222/path', 'must end after the host and the port'],
    ['nats://:hunter2@host', 'has a password and no user'],
    ['nats:///', 'must name a host'],
    ['nats://host:0', 'must name a port from 1'],
    ['nats://%zz', 'has a % in its host'],
  ],
  SPOOL_NATS_URL: [['http://host', 'must begin with nats:// or tls://']],
  API_URL: [
    ['relay.example.com', 'must be an origin such as https://relay.example.com'],
    ['ftp://relay.example.com', 'must be an origin'],
  ],
  INGEST_URL: [
    [
      'https://relay.example.com/hooks/',
      'must end after the host and the port: https://relay.example.com',
    ],
    ['https://relay.example.com?x=1', 'must end after the host'],
  ],
  INGEST_SERVICE_URL: [['ingest:8081', 'must be an origin']],
  LOG_LEVEL: [['warning', 'must be one of trace, debug, info, warn']],
  DEFAULT_PLAN: [['gold', 'must be one of hobby, launch, scale, enterprise']],
  KEY_PREFIX: [['My-Key', 'must be 2 to 16 lower-case letters and digits']],
  KUBECONFIG: [['a\nb', 'must have no control characters']],
  POD_NAMESPACE: [['My Namespace', 'must be a name as Kubernetes has them']],
  WATCH_NAMESPACES: [['Shop', 'must be a name as Kubernetes has them']],
  ALLOWED_RELAYS: [
    ['https://relay.example.com/api', 'Cannot read "https://relay.example.com/api"'],
    ['*', 'expected a name, or *. and a name'],
  ],
  ALLOWED_TEMPLATE_MEMBERS: [['image,hostNetwork', '"hostNetwork" must be one of annotations']],
  LEASE_NAME: [['-', 'must be a name as Kubernetes has them']],
  CLUSTER_ID: [['a b', 'must be a name as Kubernetes has them']],
  CONNECTOR_IMAGE: [['a\nb', 'must have no control characters']],
  RELAY_POLL_SECONDS: [['0', 'a whole number from 1 to 60']],
  INSTANCE_NAME: [
    ['a\nb', 'must have no control characters'],
    ['x'.repeat(101), 'must have 100 characters at most'],
  ],
  PLANS_FILE: [
    ['/nonexistent/plans.json', 'there is no such file'],
    ['/', 'is a directory'],
    ['/', 'is a directory'],
  ],
  TEST_CLOCK_FILE: [
    ['/nonexistent/clock', 'there is no such file'],
    ['/', 'is a directory'],
    ['/etc/passwd', 'is larger than 64 bytes'],
    ['/dev/null', 'is no regular file'],
  ],
  GATEWAY_URL: [
    ['tcp://gateway.example.com', 'must be an origin such as wss://gateway.example.com'],
    [
      'wss://gateway.example.com/v1',
      'must end after the host and the port: wss://gateway.example.com',
    ],
    ['gateway.example.com:8082', 'must be an origin'],
  ],
  GATEWAY_PORT: [['65536', 'must be a port']],
  OPS_PORT: [['metrics', 'must be a port']],
  OPS_HOST: [['everywhere', 'must be an IP address']],
  CONNECTIONS_PER_ADDRESS: [['0', 'a whole number from 1 to 1000000']],
  SIGNUP: [['closed', 'must be one of invitation, open']],
  SIGN_INS_PER_MINUTE: [['0', 'a whole number from 1 to 1000000']],
  AUTH_CALLS_PER_MINUTE: [['many', 'a whole number from 1 to 1000000']],
  SIGN_UPS_PER_DAY: [['0', 'a whole number from 1 to 100000']],
  SELF_SERVICE_PLANS: [['no', 'must be one of on, off']],
  SMTP_URL: [
    ['mail.example.com:587', 'must begin with smtp:// or smtps://'],
    ['http://mail.example.com', 'must begin with smtp:// or smtps://'],
    ['smtp://:hunter2@host', 'has a password and no user'],
    ['smtp://host/path', 'must end after the host and the port'],
    ['smtp://host?tls=no', 'must end after the host and the port'],
    ['smtp:///', 'must name a host'],
  ],
  MAIL_FROM: [
    ['Postern', 'must be an address such as'],
    ['Postern <postern>', 'must be an address such as'],
    ['a@example.com, b@example.com', 'must be an address such as'],
  ],
  OIDC_ISSUER: [
    ['login.example.com', 'must be a URL such as https://'],
    ['http://login.example.com', 'must be a URL such as https://'],
    ['https://user:hunter2@login.example.com', 'must hold no user and no password'],
    ['https://login.example.com/.well-known/openid-configuration', 'must end before /.well-known'],
    ['https://login.example.com?x=1', 'must end before'],
  ],
  OIDC_CLIENT_ID: [['a\nb', 'must have no control characters']],
  OIDC_CLIENT_SECRET: [['hunter2\nhunter2', 'must have no control characters']],
  OIDC_NAME: [['x'.repeat(61), 'must have 60 characters at most']],
  OIDC_TRUST_EMAIL: [['yes', 'must be one of on, off']],
  OIDC_ALLOWED_DOMAINS: [
    ['@example.com', '"@example.com" must be a domain'],
    ['example.com;example.org', '"example.com;example.org" must be a domain'],
  ],
  OIDC_DEFAULT_ROLE: [['owner', 'must be one of member, admin']],
  AUTH_PASSWORDS: [['no', 'must be one of on, off']],
  CONNECTIONS_PER_SOURCE: [['-1', 'a whole number from 1 to 1000000']],
  POSTERN_ENCRYPTION_KEY: [['hunter2', 'the key must be base64 of 32 bytes, and is 5 bytes']],
  DATA_DIR: [
    ['a\tb', 'must have no control characters'],
    ['x'.repeat(4_097), 'must have 4096 characters at most'],
  ],
  NATS_SERVER_BIN: [
    ['/nonexistent/nats-server', 'there is no such file'],
    ['/', 'is a directory'],
    ['/etc/passwd', 'is no program: it may not be executed'],
    ['nats-server', 'must be a path'],
  ],
  ...badTraceValues(),
}

/** The value of a setting for traces alone is as bad as that of its general form. */
function badTraceValues(): Record<string, readonly (readonly [value: string, fault: string])[]> {
  const general = {
    ENDPOINT: [
      ['otel-collector:4318', 'must be a URL such as http://otel-collector:4318'],
      ['https://me:hunter2@collector', 'must hold no user and no password: put them into'],
      ['http://collector/?key=hunter2', 'must end after its path'],
    ],
    PROTOCOL: [['grpc', 'must be one of http/protobuf, http/json']],
    HEADERS: [
      ['hunter2', 'item 1 must be name=value'],
      ['a=b,api key=hunter2', 'item 2 has a name that no header can have'],
      ['key=hunter2%0Ax', 'item 1 has a value that no header can carry'],
      ['key=hunter2%', 'item 1 must be name=value'],
    ],
    TIMEOUT: [['10s', 'a whole number from 1 to 600000']],
    COMPRESSION: [['zstd', 'must be one of none, gzip']],
    CERTIFICATE: [['/nonexistent/ca.pem', 'there is no such file']],
    CLIENT_CERTIFICATE: [['/', 'is a directory']],
    CLIENT_KEY: [['/nonexistent/key.pem', 'there is no such file']],
  } as const
  return {
    ...Object.fromEntries(
      Object.entries(general).flatMap(([name, values]) => [
        [`OTEL_EXPORTER_OTLP_${name}`, values],
        [`OTEL_EXPORTER_OTLP_TRACES_${name}`, values],
      ]),
    ),
    OTEL_TRACES_EXPORTER: [['zipkin', 'must be one of otlp, none']],
    OTEL_TRACES_SAMPLER: [['jaeger_remote', 'must be one of always_on, always_off, traceidratio']],
    OTEL_TRACES_SAMPLER_ARG: [
      ['10%', 'must be a number from 0 to 1'],
      ['1.5', 'must be a number from 0 to 1'],
      ['-0.1', 'must be a number from 0 to 1'],
      ['1e-3', 'must be a number from 0 to 1'],
    ],
    OTEL_BSP_SCHEDULE_DELAY: [['5s', 'a whole number from 1 to 600000']],
    OTEL_BSP_EXPORT_TIMEOUT: [['-1', 'a whole number from 1 to 600000']],
    OTEL_BSP_MAX_QUEUE_SIZE: [['0', 'a whole number from 1 to 1000000']],
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: [['many', 'a whole number from 1 to 1000000']],
    OTEL_SERVICE_NAME: [['a\nb', 'must have no control characters']],
    OTEL_RESOURCE_ATTRIBUTES: [
      ['production', 'item 1 must be name=value'],
      [`a=${'x'.repeat(256)}`, 'item 1 has a value of more than 255 characters'],
    ],
    OTEL_SDK_DISABLED: [['yes', 'must be one of true, false']],
  }
}
