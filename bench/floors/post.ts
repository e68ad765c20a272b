import type { Agent } from 'undici'

/** A bare POST to `/`: resolves with the status when the answer has ended. */
export function post(agent: Agent, origin: string, body: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    let answered = 0
    agent.dispatch(
      { origin, path: '/', method: 'POST', headers: ['content-type', 'application/json'], body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status) => void (answered = status),
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(answered),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}
