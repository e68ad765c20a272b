import type { Schemas } from '../../api/client.ts'
import { bytes } from '../../parts/words/numbers.ts'

interface Person {
  name: string
  address: string
}

/** The parts of a mail that are shown; ingest wrote them. */
interface Mail {
  from: Person | null
  to: Person[]
  cc: Person[]
  subject: string | null
  date: string | null
  text: string | null
  html: string | null
  attachments: {
    filename: string | null
    contentType: string
    sizeBytes: number
    contentBase64: string
  }[]
  authentication: {
    spf: { result: string }
    dkim: { domain: string | null; result: string }[]
    dmarc: { result: string }
  }
}

/** The mail that the event is made of; undefined when it came as a request. */
export function mailOf({ method, payload }: Schemas['Event']): Mail | undefined {
  if (method !== 'MAIL' || typeof payload !== 'object' || payload === null) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- ingest makes every mail so
  return payload as unknown as Mail
}

/** As people read it. HTML is shown as text: whoever sent it is a stranger. */
export function MailView({ mail }: { mail: Mail }) {
  const { from, to, cc, subject, date, text, html, attachments, authentication } = mail
  const dkim = authentication.dkim.map(({ domain, result }) => `${result} (${domain ?? 'none'})`)
  return (
    <>
      <dl className="facts">
        <dt>From</dt>
        <dd>{from === null ? 'nobody' : personOf(from)}</dd>
        <dt>To</dt>
        <dd>{to.map(personOf).join(', ') || 'nobody'}</dd>
        {cc.length > 0 && (
          <>
            <dt>Copies</dt>
            <dd>{cc.map(personOf).join(', ')}</dd>
          </>
        )}
        <dt>Subject</dt>
        <dd>{subject ?? 'none'}</dd>
        <dt>Date</dt>
        <dd className="mono">{date ?? 'none'}</dd>
        <dt>Sender verified</dt>
        <dd className="mono">
          SPF {authentication.spf.result}, DKIM {dkim.join(', ') || 'none'}, DMARC{' '}
          {authentication.dmarc.result}
        </dd>
      </dl>
      <pre className="wrap" tabIndex={0} role="region" aria-label="Text of the mail">
        {text ?? html ?? 'The mail has no text.'}
      </pre>
      {attachments.length > 0 && (
        <ul aria-label="Attachments">
          {attachments.map(({ filename, contentType, sizeBytes, contentBase64 }, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- the mail never changes
            <li key={index}>
              <button
                type="button"
                className="button"
                onClick={() => save(filename ?? 'attachment', contentBase64)}
              >
                Save {filename ?? 'the attachment'}
              </button>{' '}
              <span className="muted">
                {contentType}, {bytes(sizeBytes)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Saved as bytes of no type, so that no browser opens it. */
function save(filename: string, base64: string): void {
  const url = URL.createObjectURL(new Blob([Uint8Array.fromBase64(base64)]))
  const link = document.createElement('a')
  link.href = url
  link.download = filename
  link.click()
  URL.revokeObjectURL(url)
}

function personOf({ name, address }: Person): string {
  return name === '' ? address : `${name} <${address}>`
}
