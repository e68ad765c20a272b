import { expect, test } from 'vitest'

import {
  bytesOfUuid,
  decodeId,
  encodeId,
  firstIdAt,
  idAfter,
  idBefore,
  newId,
  newIdBytes,
  timeOfId,
} from './ids.ts'

test('encodeId() writes the TypeID of the specification example', () => {
  const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'
  expect(encodeId('prj', uuid)).toBe('prj_01h455vb4pex5vsknk084sn02q')
  expect(encodeId('prj', bytesOfUuid(uuid))).toBe('prj_01h455vb4pex5vsknk084sn02q')
  expect(decodeId('prj', 'prj_01h455vb4pex5vsknk084sn02q')).toBe(uuid)
})

test('encodeId() writes of a text what it writes of its bytes, with the prefix it is given', () => {
  const ids = Array.from({ length: 2_500 }, (_, n) => newId(1_700_000_000_000 + n))
  for (const id of ids) {
    for (const prefix of ['dlv', 'evt'] as const) {
      expect(encodeId(prefix, id)).toBe(encodeId(prefix, bytesOfUuid(id)))
    }
  }
})

test.for([
  'prj_01h455vb4pex5vsknk084sn02',
  'prj_01h455vb4pex5vsknk084sn02qq',
  'prj_01h455vb4pex5vsknk084sn02Q',
  'prj_01h455vb4pex5vsknk084sn02l',
  'prj_81h455vb4pex5vsknk084sn02q',
  'src_01h455vb4pex5vsknk084sn02q',
  '',
])('decodeId() refuses %j', (text) => {
  expect(decodeId('prj', text)).toBeUndefined()
})

test('newId() makes ids that sort in the order they were made, also when the clock stands', () => {
  const ids = Array.from({ length: 10_000 }, () => newId(1_700_000_000_000))
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
})

test('timeOfId() reads the millisecond and firstIdAt() bounds it', () => {
  const at = 1_800_000_000_123
  const id = newId(at)
  expect(timeOfId(id)).toBe(at)
  expect(firstIdAt(at) < id && id < firstIdAt(at + 1)).toBe(true)
  expect(newIdBytes(at)).toHaveLength(16)
})

test('idAfter() and idBefore() carry over', () => {
  const last = '01890a5d-ac96-7fff-bfff-ffffffffffff'
  const next = '01890a5d-ac96-7fff-c000-000000000000'
  expect(idAfter(last)).toBe(next)
  expect(idBefore(next)).toBe(last)
  expect(idAfter('00000000-0000-0000-0000-000000000000')).toBe(
    '00000000-0000-0000-0000-000000000001',
  )
})
