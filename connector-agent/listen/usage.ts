/** The text of `--help`. */
export const LISTEN_USAGE = `Sends the webhooks of a relay to a server on this machine, and shows each as it comes.

  npm run listen -- 3000
  npm run listen -- 3000 --path /webhooks/stripe --preset stripe --secret-file secret --events 'invoice.*'

  PORT, HOST:PORT or URL   your server
  --path PATH              the path at your server
  --source NAME            an ingest address that there is, or is to be made under this name
  --preset NAME            verifies as this provider signs; GET /v1/verifier-presets lists the names
  --secret-file FILE       the provider's secret (or POSTERN_SOURCE_SECRET)
  --events TYPES           only these types of events: invoice.paid, 'invoice.*', with commas between them
  --verbose                shows headers and bodies

Keys: r sends the last delivery again, f shows only failures, q ends.

The relay is the one that runs here (npm start; DATA_DIR), or that of POSTERN_URL with POSTERN_API_KEY.
`
