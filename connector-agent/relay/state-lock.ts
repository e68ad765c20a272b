import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The paths of sockets are short. */
const PATH_LENGTH_MAX = 100
const HASH_LENGTH = 16

/**
 * Keeps two agents from sharing a state directory, and so an identity. A socket is free again in the moment in which its
 * process ends, however it ends. Throws `taken` when another agent has the directory.
 */
export async function lockState(dir: string, taken: string): Promise<Disposable> {
  const path = socketPath(realpathSync(dir))
  const server = createServer((socket) => socket.destroy())
  if (!(await listens(server, path))) {
    if (await answers(path)) {
      throw new Error(taken)
    }
    rmSync(path, { force: true })
    if (!(await listens(server, path))) throw new Error(`Cannot start: cannot lock ${dir}`)
  }
  server.unref()
  return {
    [Symbol.dispose]() {
      server.close()
    },
  }
}

function socketPath(dir: string): string {
  const inside = join(dir, 'agent.sock')
  if (inside.length <= PATH_LENGTH_MAX) return inside
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, HASH_LENGTH)
  return join(tmpdir(), `postern-connector-${hash}.sock`)
}

async function listens(server: Server, path: string): Promise<boolean> {
  server.listen(path)
  try {
    await once(server, 'listening')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  }
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
