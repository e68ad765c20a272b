import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { compileSigner, newSigningSecret, sign } from '../../../core/delivery/signature.ts'
import { has } from '../tools.ts'

/** The functions of docs/receivers.md, each run with deliveries that are right and wrong. */
const scratch = mkdtempSync(join(tmpdir(), 'postern-receivers-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const PAGE = readFileSync('docs/receivers.md', 'utf8')
const IS_CI = process.env['CI'] !== undefined

function codeOf(language: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(PAGE) ?? []
  if (code === undefined) throw new Error(`docs/receivers.md has no block of ${language}`)
  return code
}

interface Language {
  /** The language of its block on the page. */
  name: string
  /** Prints its version, where it is on the machine. */
  asks: [string, ...string[]]
  /** The files of a program that reads cases as lines of four base64 texts or fewer, and prints true or false for each. */
  files: Record<string, string>
  runs: [string, ...string[]]
  /** CI brings it. */
  isInCi: boolean
}

const LANGUAGES: Language[] = [
  {
    name: 'js',
    asks: ['node', '--version'],
    files: {
      'receiver.mjs': codeOf('js'),
      'main.mjs': `import { readFileSync } from 'node:fs'
import { verify } from './receiver.mjs'
for (const line of readFileSync('cases', 'utf8').trim().split('\\n')) {
  const [secret, id, at, list, body] = line.split('|').map((text) => Buffer.from(text, 'base64'))
  const headers = { 'webhook-id': String(id), 'webhook-timestamp': String(at), 'webhook-signature': String(list) }
  console.log(verify(String(secret), headers, body))
}`,
    },
    runs: ['node', 'main.mjs'],
    isInCi: true,
  },
  {
    name: 'python',
    asks: ['python3', '--version'],
    files: {
      'receiver.py': codeOf('python'),
      'main.py': `import base64
from receiver import verify
for line in open("cases"):
    secret, id, at, given, body = [base64.b64decode(text) for text in line.strip().split("|")]
    headers = {"webhook-id": id.decode(), "webhook-timestamp": at.decode(), "webhook-signature": given.decode()}
    print(str(verify(secret.decode(), headers, body)).lower())`,
    },
    runs: ['python3', 'main.py'],
    isInCi: true,
  },
  {
    name: 'go',
    asks: ['go', 'version'],
    files: {
      'go.mod': 'module receiver\n\ngo 1.21\n',
      'receiver.go': codeOf('go').replace('package receiver', 'package main'),
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	file, _ := os.Open("cases")
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var parts []string
		for _, text := range strings.Split(lines.Text(), "|") {
			part, _ := base64.StdEncoding.DecodeString(text)
			parts = append(parts, string(part))
		}
		headers := http.Header{}
		headers.Set("webhook-id", parts[1])
		headers.Set("webhook-timestamp", parts[2])
		headers.Set("webhook-signature", parts[3])
		fmt.Println(Verify(parts[0], headers, []byte(parts[4])))
	}
}`,
    },
    runs: ['go', 'run', '.'],
    isInCi: true,
  },
  {
    name: 'java',
    asks: ['java', '-version'],
    files: {
      'Main.java': `import java.nio.file.*;
import java.util.*;
${codeOf('java').replace('final class Receiver', 'class Receiver')}`.replace(
        'class Receiver {',
        `public class Main {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of("cases"))) {
            byte[][] part = Arrays.stream(line.split("\\\\|", -1))
                .map(text -> Base64.getDecoder().decode(text)).toArray(byte[][]::new);
            Map<String, String> headers = Map.of("webhook-id", new String(part[1]),
                "webhook-timestamp", new String(part[2]), "webhook-signature", new String(part[3]));
            System.out.println(verify(new String(part[0]), headers, part[4]));
        }
    }
`,
      ),
    },
    runs: ['java', 'Main.java'],
    isInCi: false,
  },
  {
    name: 'ruby',
    asks: ['ruby', '--version'],
    files: {
      'receiver.rb': codeOf('ruby'),
      'main.rb': `require_relative "receiver"
File.foreach("cases") do |line|
  secret, id, at, list, body = line.chomp.split("|", -1).map { |text| text.unpack1("m") }
  headers = { "webhook-id" => id, "webhook-timestamp" => at, "webhook-signature" => list }
  puts verify(secret, headers, body)
end`,
    },
    runs: ['ruby', 'main.rb'],
    isInCi: false,
  },
  {
    name: 'php',
    asks: ['php', '--version'],
    files: {
      'receiver.php': codeOf('php'),
      'main.php': `<?php
require 'receiver.php';
foreach (file('cases', FILE_IGNORE_NEW_LINES) as $line) {
  [$secret, $id, $at, $list, $body] = array_map('base64_decode', explode('|', $line));
  $headers = ['webhook-id' => $id, 'webhook-timestamp' => $at, 'webhook-signature' => $list];
  echo verify($secret, $headers, $body) ? 'true' : 'false', "\\n";
}`,
    },
    runs: ['php', 'main.php'],
    isInCi: false,
  },
]

interface Case {
  secret: string
  id: string
  at: string
  list: string
  body: Buffer
}

/** Deliveries, and the answer of a receiver that is right. */
function cases(): [expected: boolean, of: Case][] {
  const [secret, other] = [newSigningSecret(), newSigningSecret()]
  const id = 'dlv_01h455vb4pex5vsknk084sn02q'
  const body = Buffer.concat([Buffer.from('{"emoji":"🙂"}'), Buffer.from([0xff, 0x0a])])
  const now = Math.trunc(Date.now() / 1_000)
  const signed = (seconds: number, secrets = [secret]): Case => ({
    secret,
    id,
    at: String(seconds),
    list: sign(compileSigner(secrets), id, seconds, body),
    body,
  })
  const good = signed(now)
  return [
    [true, good],
    [true, signed(now, [other, secret])],
    [true, signed(now - 200)],
    [false, signed(now - 400)],
    [false, signed(now + 400)],
    [false, signed(now, [other])],
    [false, { ...good, id: `${id}x` }],
    [false, { ...good, at: `${now + 1}` }],
    [false, { ...good, at: '' }],
    [false, { ...good, at: 'now' }],
    [false, { ...good, list: '' }],
    [false, { ...good, list: good.list.replace('v1,', 'v2,') }],
    [false, { ...good, list: 'v1,' }],
    [false, { ...good, body: Buffer.from('{}') }],
    ...['', 'whsec_', 'whsec_!!!!'].map((keyless): [boolean, Case] => [
      false,
      { ...good, secret: keyless, list: signedWithNoKey(good) },
    ]),
  ]
}

/** The signature that anybody can make where the secret is missing. */
function signedWithNoKey({ id, at, body }: Case): string {
  return `v1,${createHmac('sha256', '').update(`${id}.${at}.`).update(body).digest('base64')}`
}

for (const { name, asks, files, runs, isInCi } of LANGUAGES) {
  const isMissing = !(IS_CI && isInCi) && !(await has(...asks))
  test.skipIf(isMissing)(`the function in ${name} accepts and refuses what it must`, () => {
    const cwd = mkdtempSync(join(scratch, `${name}-`))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text)
    const all = cases()
    const lines = all.map(([, { secret, id, at, list, body }]) =>
      [secret, id, at, list, body].map((part) => Buffer.from(part).toString('base64')).join('|'),
    )
    writeFileSync(join(cwd, 'cases'), `${lines.join('\n')}\n`)
    const [program, ...args] = runs
    const said = execFileSync(program, args, { cwd, encoding: 'utf8' }).trim().split('\n')
    expect(said).toEqual(all.map(([expected]) => String(expected)))
  })
}
