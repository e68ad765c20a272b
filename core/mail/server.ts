const SUBMISSION_PORT = 587
const TLS_PORT = 465

/** How a mail server is reached. */
interface MailServer {
  host: string
  port: number
  /** TLS from the first byte. */
  secure: boolean
  /** Nothing is said before STARTTLS. */
  requireTLS: boolean
  tls: { rejectUnauthorized: boolean }
  auth?: { user: string; pass: string }
}

/**
 * The server that a URL names. `smtps://` is TLS from the start. `smtp://` uses STARTTLS where the server has it; with a
 * password or `?tls=required` it demands it and a certificate that is valid, unless the server is this machine.
 */
export function serverOf(text: string): MailServer {
  const url = new URL(text)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const secure = url.protocol === 'smtps:'
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host)
  const isSecret = url.password !== '' || url.searchParams.get('tls') === 'required'
  const isProven = secure || (isSecret && !isHere)
  return {
    host,
    port: url.port === '' ? (secure ? TLS_PORT : SUBMISSION_PORT) : Number(url.port),
    secure,
    requireTLS: isProven && !secure,
    // Whoever could show a false certificate could take STARTTLS away as well.
    tls: { rejectUnauthorized: isProven },
    ...(url.username === ''
      ? {}
      : {
          auth: {
            user: decodeURIComponent(url.username),
            pass: decodeURIComponent(url.password),
          },
        }),
  }
}
