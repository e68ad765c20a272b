import { request } from 'node:http'

import { atRate, post, sideBySide, type Attack } from './attack.ts'

/** Refusals that are to be kept for their key. */
export const idempotencyFlood: Attack = async (ground) => {
  const members = Array.from({ length: 90_000 }, (_, n) => `"m${n}":1`)
  const body = `{${members.join(',')}}`
  let key = 0
  atRate(
    ground,
    { perSecond: 5 },
    async () =>
      await ground.tenant.ask('POST', '/v1/sources', body, { 'idempotency-key': `flood ${key++}` }),
  )
  await Promise.resolve()
}

/** More event streams than a process serves. */
export const manyStreams: Attack = async (ground) => {
  const { tenant, stack } = ground
  const ends: (() => void)[] = []
  stack.defer(() => {
    for (const end of ends) end()
  })
  for (let n = 0; n < 300; n++) {
    const sent = request(`${tenant.apiUrl}/v1/events/stream`, {
      agent: false,
      headers: { authorization: tenant.authorization, accept: 'text/event-stream' },
    })
    sent.on('error', () => undefined)
    sent.on('response', (response) => response.on('error', () => undefined).resume())
    sent.end()
    ends.push(() => sent.destroy())
  }
  const { ingestUrl } = await tenant.makeSource()
  atRate(ground, { perSecond: 10 }, async () => await post(ingestUrl, '{}'))
}

/** Searches and counts over all that the organisation has. */
export const costlyReads: Attack = async (ground) => {
  const { tenant } = ground
  const { ingestUrl } = await tenant.makeSource()
  const filler = 'filler '.repeat(400)
  const each = Array.from({ length: 20 }, async () => {
    for (let n = 0; n < 150; n++) await post(ingestUrl, JSON.stringify({ n, filler }))
  })
  await Promise.all(each)
  const plan = { kind: 'replay', filter: { search: 'nothing of the kind' } }
  sideBySide(ground, 20, async () => {
    const status = await tenant.ask('POST', '/v1/operations/plan', plan)
    if (status === 429) throw new Error('Too many')
  })
  sideBySide(ground, 20, async () => {
    const status = await tenant.ask('GET', '/v1/events?search=nothing%20of%20the%20kind')
    if (status === 429) throw new Error('Too many')
  })
}
