import { expect, test } from 'vitest'

import { startWorld } from '../kit/world.ts'

test('the document is there without a key, and under /v1 with one', async () => {
  await using world = await startWorld()
  const open = await world.api('GET', '/openapi.json', undefined, { key: null })
  expect(open.status).toBe(200)
  expect((await world.api('GET', '/v1/openapi.json', undefined, { key: null })).status).toBe(401)
  const { key } = await world.createKey({ billing: 'read' })
  const keyed = await world.api('GET', '/v1/openapi.json', undefined, { key })
  expect(keyed.body).toEqual(open.body)
})

test('the reference for people is there without a key, under a strict policy', async () => {
  await using world = await startWorld()
  const response = await fetch(`${world.apiUrl}/docs`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; /)
  expect(await response.text()).toMatch(/^<!doctype html>/)
})

test.for(['/openapi.json', '/docs'])(
  '%s is compressed and knows who has it already',
  async (path) => {
    await using world = await startWorld()
    const url = `${world.apiUrl}${path}`
    const read = async (headers: Record<string, string>) => {
      const answer = await fetch(url, { headers })
      return { answer, text: await answer.text() }
    }
    const plain = await read({ 'accept-encoding': 'identity' })
    const zipped = await read({ 'accept-encoding': 'br;q=1, gzip;q=0.5' })
    expect(plain.answer.headers.get('content-encoding')).toBeNull()
    expect(zipped.answer.headers.get('content-encoding')).toBe('gzip')
    expect(zipped.text).toBe(plain.text)
    expect(Number(zipped.answer.headers.get('content-length'))).toBeLessThan(plain.text.length / 4)
    for (const { answer } of [plain, zipped]) {
      expect(answer.headers.get('vary')).toBe('accept-encoding')
      expect(answer.headers.get('etag')).toMatch(/^W\/"[\w-]+"$/)
    }
    const refused = await read({ 'accept-encoding': 'gzip;q=0, *' })
    expect(refused.answer.headers.get('content-encoding')).toBeNull()

    const etag = String(plain.answer.headers.get('etag'))
    for (const known of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const again = await read({ 'if-none-match': known })
      expect(again.answer.status, known).toBe(304)
      expect(again.text).toBe('')
      expect(again.answer.headers.get('etag')).toBe(etag)
    }
    expect((await read({ 'if-none-match': '"other"' })).answer.status).toBe(200)
  },
)
