import { atRate, post, type Attack } from './attack.ts'
import { listen } from './listeners.ts'

const KIB = 1024
const FILTER_TEXT = 11_000

/** Each element of the event is compared with all members of the operand. */
export const costlyFilter: Attack = async (ground) => {
  const { tenant, stack } = ground
  const operand = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n]))
  const filter = { body: { a: { $eq: operand } } }
  const { id, ingestUrl } = await tenant.makeSource()
  await tenant.connect(id, await tenant.makeDestination(await listen(stack, 'answers')), filter)
  const event = Buffer.from(`{"a":[${'{},'.repeat(50_000)}{}]}`)
  atRate(ground, { perSecond: 2 }, async () => await post(ingestUrl, event))
  const sample = { payload: { a: Array.from({ length: 20_000 }, () => ({})) } }
  const asked = JSON.stringify({ filter, sample })
  atRate(
    ground,
    { perSecond: 2 },
    async () => await tenant.ask('POST', '/v1/connections/test-filter', asked),
  )
}

/** A form of many fields, stored as an event and read again by the API. */
export const costlyForm: Attack = async (ground) => {
  const { tenant } = ground
  const { id, ingestUrl } = await tenant.makeSource({ eventTypeField: 'body.type' })
  const form = 'a&'.repeat(256 * KIB)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  atRate(ground, { perSecond: 4 }, async () => await post(ingestUrl, form, headers))
  atRate(
    ground,
    { perSecond: 4 },
    async () => await tenant.ask('GET', `/v1/events?sourceId=${id}&limit=20&include=payload`),
  )
}

/** Filters that are compiled again after each change of their source, and the events that need them. */
export const manyFilters: Attack = async (ground) => {
  const { tenant, stack } = ground
  const { id, ingestUrl } = await tenant.makeSource()
  const destination = await tenant.makeDestination(await listen(stack, 'answers'))
  const conditions = Array.from({ length: 500 }, (_, n) => ({ [`k${n}`]: { $eq: `${n}` } }))
  const filter = { body: { $or: conditions } }
  if (JSON.stringify(filter).length < FILTER_TEXT) throw new Error('The filters are small')
  const each = Array.from({ length: 10 }, async () => {
    for (let n = 0; n < 50; n++) await tenant.connect(id, destination, filter)
  })
  await Promise.all(each)
  let change = 0
  atRate(ground, { perSecond: 2 }, async () => {
    await tenant.ask('PATCH', `/v1/sources/${id}`, { metadata: { change: String(change++) } })
    await post(ingestUrl, '{"k":1}')
  })
}

/** Anybody may ask for the document, without a key. */
export const documentFlood: Attack = async (ground) => {
  const { tenant } = ground
  atRate(
    ground,
    { perSecond: 100, most: 50 },
    async () => await tenant.ask('GET', '/openapi.json', undefined, { authorization: '' }),
  )
  await Promise.resolve()
}
