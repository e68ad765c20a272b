import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { Pairs } from '../../parts/payload/pairs.tsx'
import { Payload } from '../../parts/payload/payload.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { bytes } from '../../parts/words/numbers.ts'
import { Compare } from './compare.tsx'
import { mailOf, MailView } from './mail.tsx'

const TABS = ['Mail', 'Payload', 'Headers', 'Request', 'Compare'] as const

/** The request as it was received. */
export function EventBody({ event }: { event: Schemas['Event'] }) {
  const mail = mailOf(event)
  const [tab, setTab] = useState<(typeof TABS)[number]>(mail === undefined ? 'Payload' : 'Mail')
  return (
    <section className="section" aria-label="Received">
      <Tabs
        label="Received"
        tabs={TABS.filter((name) => name !== 'Mail' || mail !== undefined)}
        shown={tab}
        show={setTab}
      >
        {tab === 'Mail' && mail !== undefined && <MailView mail={mail} />}
        {tab === 'Payload' && <Payload event={event} />}
        {tab === 'Headers' && <Pairs pairs={event.headers} label="Headers" />}
        {tab === 'Request' && <Request event={event} />}
        {tab === 'Compare' && <Compare event={event} />}
      </Tabs>
    </section>
  )
}

function Request({ event }: { event: Schemas['Event'] }) {
  return (
    <dl className="facts">
      <dt>Method and path</dt>
      <dd className="mono">
        {event.method} {event.path}
      </dd>
      <dt>Content type</dt>
      <dd className="mono">{event.contentType ?? 'none'}</dd>
      <dt>Size</dt>
      <dd className="mono">{bytes(event.sizeBytes)}</dd>
      <dt>From address</dt>
      <dd className="mono">{event.remoteIp}</dd>
      <dt>Verified with</dt>
      <dd className="mono">{event.verifiedWith}</dd>
      {event.rejectionReason !== undefined && (
        <>
          <dt>Rejected because</dt>
          <dd className="mono">{event.rejectionReason}</dd>
        </>
      )}
      <dt>Idempotency key</dt>
      <dd className="mono">{event.idempotencyKey ?? 'none'}</dd>
      <dt>Query</dt>
      <dd>
        <Pairs pairs={event.query} label="Query" />
      </dd>
    </dl>
  )
}
