import { expect, test } from 'vitest'

import { UsageError } from './arguments.ts'
import { readCommand } from './commands.ts'

const ORGANISATION = 'org_01h455vb4pex5vsknk084sn02q'

test.for<[words: string, message: string]>([
  ['organisations', 'Unknown command "organisations"'],
  ['organisations destroy', 'organisations create, organisations list'],
  ['planets list', 'Unknown command "planets list"'],
  ['organisations create', '--name is missing'],
  ['organisations create --name', 'name'],
  ['organisations create --name x --plan gold', '--plan'],
  ['organisations create --name x --unscoped', 'no option --unscoped'],
  ['organisations create x --name x', 'takes no arguments'],
  [`organisations set-plan ${ORGANISATION}`, 'takes <org_…> <plan>'],
  ['organisations set-plan prj_1 scale', '"prj_1" is not the id of an organisation'],
  ['keys create --name x', 'needs --permission'],
  ['keys create --name x --unscoped --permission sources=read', 'needs --permission'],
  ['keys create --name x --permission sources=all', '--permission sources'],
  ['keys create --name x --permission sauces=read', '--permission'],
  ['keys create --name x --permission sources', 'expected <resource>=<none|read|write>'],
  ['keys create --name x --permission sources=read --permission sources=write', 'twice'],
  ['keys create --name x --unscoped --expires tomorrow', '--expires'],
  ['keys create --name x --unscoped --project org_1', '"org_1" is not the id of a project'],
  ['keys revoke', 'takes <key_…>'],
  ['sources set-rate-limit src_1 5', '"src_1" is not the id of a source'],
  ['sources set-rate-limit src_01h455vb4pex5vsknk084sn02q fast', '--rate-limit'],
  ['users invite', 'takes <email>'],
  ['users invite nobody', '--email'],
  ['users invite ada@example.com --role king', '--role'],
  ['users revoke key_1', '"key_1" is not the id of an invitation'],
  ['--surprise', 'surprise'],
])('readCommand() refuses "%s"', ([words, message]) => {
  const read = (): unknown => readCommand(words.split(' '))
  expect(read).toThrow(UsageError)
  expect(read).toThrow(message)
})

test.for<[words: string, first: string]>([
  ['', 'Administration of a Postern installation'],
  ['help', 'Administration of a Postern installation'],
  ['--help', 'Administration of a Postern installation'],
  ['keys --help', 'keys create --name'],
  ['keys create -h', 'keys create --name'],
  ['help keys revoke', 'keys revoke <key_…>'],
])('readCommand() answers "%s" with help', ([words, first]) => {
  expect(readCommand(words.split(' ').filter((word) => word !== ''))).toMatchObject({
    help: expect.stringContaining(first),
  })
  expect(readCommand(['organisations', 'list'])).toBeTypeOf('function')
})
