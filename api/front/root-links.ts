/** The answer to GET / for programs: where one that knows the address alone goes on. Browsers get the dashboard. */
export const LINKS = JSON.stringify({
  name: 'Postern',
  api: '/v1',
  docs: '/docs',
  openapi: '/openapi.json',
  health: '/healthz',
})

export const LINKS_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  vary: 'accept, accept-encoding',
}
