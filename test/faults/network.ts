import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'

/** Another network on this machine, joined to it by a link whose packets can be dropped or slowed down. */
export interface Network extends Disposable {
  /** The address of this machine on the link. */
  host: string
  /** Words before a command that run it over there. */
  prefix: readonly string[]
  /** Every packet is dropped from now on: nobody hears of it. */
  cut(): void
  mend(): void
  /** Both ways, so many kilobits a second. */
  slow(kilobits: number): void
}

/** Why no network can be made here; undefined when one can. Needs root, iproute2 and nftables, on Linux. */
export function noNetwork(): string | undefined {
  try {
    openNetwork()[Symbol.dispose]()
    return undefined
  } catch (error) {
    return `needs root, iproute2 and nftables: ${String(error).split('\n', 1)[0]}`
  }
}

export function openNetwork(): Network {
  const id = randomBytes(3).toString('hex')
  const [name, near, far] = [`pt-${id}`, `ptn-${id}`, `ptf-${id}`]
  const [octet = 0] = randomBytes(1)
  const [host, other] = [`10.231.${octet}.1`, `10.231.${octet}.2`]
  const over = ['ip', 'netns', 'exec', name]
  run(['ip', 'netns', 'add', name])
  const close = (): void => {
    run(['ip', 'netns', 'del', name])
  }
  try {
    run(['ip', 'link', 'add', 'name', near, 'type', 'veth', 'peer', 'name', far, 'netns', name])
    run(['ip', 'addr', 'add', `${host}/30`, 'dev', near])
    run(['ip', 'link', 'set', near, 'up'])
    run([...over, 'ip', 'addr', 'add', `${other}/30`, 'dev', far])
    run([...over, 'ip', 'link', 'set', far, 'up'])
    run([...over, 'ip', 'link', 'set', 'lo', 'up'])
    run([...over, 'nft', 'add', 'table', 'inet', 'cut'])
  } catch (error) {
    close()
    throw error
  }
  const drop = 'policy drop'
  return {
    host,
    prefix: over,
    cut() {
      for (const hook of ['input', 'output']) {
        const chain = `{ type filter hook ${hook} priority 0; ${drop}; }`
        run([...over, 'nft', `add chain inet cut ${hook} ${chain}`])
      }
    },
    mend: () => run([...over, 'nft', 'flush', 'ruleset']),
    slow(kilobits) {
      const rate = ['rate', `${kilobits}kbit`, 'burst', '16kb', 'latency', '500ms']
      run(['tc', 'qdisc', 'add', 'dev', near, 'root', 'tbf', ...rate])
      run([...over, 'tc', 'qdisc', 'add', 'dev', far, 'root', 'tbf', ...rate])
    },
    [Symbol.dispose]: close,
  }
}

function run([command = '', ...words]: readonly string[]): void {
  execFileSync(command, words, { stdio: ['ignore', 'ignore', 'pipe'] })
}
