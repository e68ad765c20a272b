import { parentPort, workerData } from 'node:worker_threads'

import { z } from 'zod'

import { RawSmtp } from '../email/mailbox.ts'

/** A sender of mail in a thread of its own: its work is none of the loop that is measured. */
const Work = z.object({
  port: z.int(),
  /** Commands, of which each waits for its answer. */
  commands: z.array(z.string()),
  /** Sent at once behind them: the connection ends with it. */
  bytes: z.instanceof(Uint8Array),
})

const { port, commands, bytes } = Work.parse(workerData)
using client = new RawSmtp(port)
await client.answer()
for (const command of commands) await client.say(command)
client.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
const first = await client.answer()
while (!client.isClosed) await client.answer()
parentPort?.postMessage(first, [])
