import { type KeyObject, sign } from 'node:crypto'

/** For tests: a self-signed X.509 certificate in PEM, of the host `name`. */
export function selfSigned(
  pair: { publicKey: KeyObject; privateKey: KeyObject },
  fromMs: number,
  toMs: number,
  host = 'test',
): string {
  const algorithm = der(0x30, Buffer.from('06092a864886f70d01010b0500', 'hex'))
  const name = der(
    0x30,
    der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(host)))),
  )
  const time = (ms: number): Buffer =>
    der(0x18, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))
  const subject = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time(fromMs), time(toMs)),
    name,
    pair.publicKey.export({ format: 'der', type: 'spki' }),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', subject, pair.privateKey))
  const text = der(0x30, subject, algorithm, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${text.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  if (size < 0x80) return Buffer.concat([Buffer.from([tag, size]), content])
  const length = size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
