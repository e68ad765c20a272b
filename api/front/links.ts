/** The answer to GET /: where a person, or a program that knows the address alone, goes on. */
export const LINKS = JSON.stringify({
  name: 'Postern',
  api: '/v1',
  docs: '/docs',
  openapi: '/openapi.json',
  health: '/healthz',
})
