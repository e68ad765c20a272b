import { expect, test } from 'vitest'

import { startWorld } from '../world.ts'

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
