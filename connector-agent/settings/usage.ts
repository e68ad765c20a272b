/** The text of `--help`. */
export const USAGE = `Delivers webhooks of a Postern relay to services that only this machine can reach.

  npm run connector -- --relay https://relay.example.com --enrollment-key-file key --allow http://payroll.internal:8080

  --relay URL                  the relay's management API (POSTERN_URL)
  --enrollment-key-file FILE   the key that the relay showed with the connector (or POSTERN_ENROLLMENT_KEY)
  --allow RULE                 what may be reached, once for each: http://payroll.internal:8080, *.internal,
                               10.0.0.0/8:8080. Without a port 80 and 443, without a scheme both
  --allow-file FILE            a JSON list of rules
  --allow-loopback             lets rules open this machine's own addresses
  --state-dir DIR              where the agent keeps its token (.postern/connector)
  --name NAME                  this agent among those of its connector (the host name)
  --ca-file FILE               PEM certificates to trust for relay and gateway, beside the system's
  --destination-ca-file FILE   the same for destinations
  --client-cert-file FILE      a client certificate for destinations, with --client-key-file
  --client-key-file FILE       its key
  --proxy URL                  a CONNECT proxy on the way to relay and gateway; NO_PROXY names exceptions
  --ops-port PORT              serves /livez, /readyz and /metrics there, on --host (127.0.0.1)
  --host ADDRESS               the address of --ops-port
  --log-level LEVEL            trace, debug, info, warn, error or silent (info)

Each flag has a setting in the environment: docs/connector.md lists them.
`
