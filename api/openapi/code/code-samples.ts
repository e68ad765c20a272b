import { asJson, asList, inlined, type Json } from '../json.ts'
import { pythonLiteral, typescriptLiteral } from './literals.ts'

/** A call of an operation as its examples have it. */
interface Call {
  operationId: string
  method: string
  /** With its names in braces. */
  path: string
  inPath: readonly [string, unknown][]
  query: readonly [string, unknown][]
  body: unknown
  isStream: boolean
  hasAnswer: boolean
  /** The variable of the environment that holds the bearer token. */
  token: string
}

/** Query parameters worth showing that are not required. */
const SHOWN = new Set(['status', 'limit'])

/** Operations of an agent have tokens of their own. */
const TOKENS: Readonly<Record<string, string>> = {
  bootstrapReplica: 'POSTERN_ENROLLMENT_KEY',
  reportReplica: 'POSTERN_HEARTBEAT_TOKEN',
}

/** The document with code for each operation, made of its own examples. */
export function withCodeSamples(document: Json): Json {
  const readable = asJson(inlined(document)['paths'])
  const paths = Object.entries(asJson(document['paths'])).map(([path, methods]) => {
    const operations = Object.entries(asJson(methods)).map(([method, operation]) => {
      const call = callOf(method, path, asJson(asJson(readable[path])[method]))
      return [method, { ...asJson(operation), 'x-codeSamples': samplesOf(call) }]
    })
    return [path, Object.fromEntries(operations)]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

function callOf(method: string, path: string, operation: Json): Call {
  const parameters = asList(operation['parameters']).map(asJson)
  const given = (place: string) =>
    parameters
      .filter((one) => one['in'] === place)
      .filter(({ name, required }) => required === true || SHOWN.has(String(name)))
      .map(({ name, example }): [string, unknown] => [String(name), example])
  const operationId = String(operation['operationId'])
  const [media] = Object.values(asJson(asJson(operation['requestBody'])['content'])).map(asJson)
  const [example] = Object.values(asJson(media?.['examples'])).map(asJson)
  const [success] = Object.entries(asJson(operation['responses'])).filter(([status]) =>
    status.startsWith('2'),
  )
  const [contentType] = Object.keys(asJson(asJson(success?.[1])['content']))
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    inPath: given('path'),
    query: given('query'),
    body: media?.['example'] ?? example?.['value'],
    isStream: contentType === 'text/event-stream',
    hasAnswer: contentType !== undefined,
    token: TOKENS[operationId] ?? 'POSTERN_API_KEY',
  }
}

function samplesOf(call: Call): Json[] {
  return [
    { lang: 'shell', label: 'curl', source: curl(call) },
    { lang: 'typescript', label: 'TypeScript', source: typescript(call) },
    { lang: 'python', label: 'Python', source: python(call) },
    { lang: 'go', label: 'Go', source: go(call) },
  ]
}

/** The path and query, filled in and escaped. */
function addressOf({ path, inPath, query }: Call): string {
  const values = new Map(inPath)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values.get(name))),
  )
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? filled : `${filled}?${search}`
}

function curl(call: Call): string {
  const { method, body, isStream, token } = call
  const options = [isStream ? '-N' : '', method === 'GET' ? '' : `-X ${method}`].filter(Boolean)
  return [
    ['curl', ...options, `"$POSTERN_URL${addressOf(call)}"`].join(' '),
    `-H "Authorization: Bearer $${token}"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d '${pretty(body).replaceAll("'", `'\\''`)}'`]),
  ].join(' \\\n  ')
}

function typescript({
  operationId,
  inPath,
  query,
  body,
  isStream,
  hasAnswer,
  token,
}: Call): string {
  const input = {
    ...Object.fromEntries([...inPath, ...query]),
    ...(body !== undefined && !isEmpty(body) && { body }),
  }
  const call = `postern.${operationId}(${isEmpty(input) ? '' : typescriptLiteral(input)})`
  const use = isStream
    ? `for await (const { type, data } of ${call}) {\n  console.log(type, data)\n}`
    : hasAnswer
      ? `const answer = await ${call}\nconsole.log(answer)`
      : `await ${call}`
  return `import { openPostern } from 'postern-client'

const postern = openPostern({
  url: process.env.POSTERN_URL ?? '',
  apiKey: process.env.${token},
})
${use}
`
}

function python(call: Call): string {
  const { method, body, isStream, hasAnswer, token } = call
  const headers = `{"Authorization": f"Bearer {os.environ['${token}']}"}`
  const lines = [
    `os.environ["POSTERN_URL"] + ${JSON.stringify(addressOf(call))}`,
    `headers=${headers}`,
    ...(body === undefined ? [] : [`json=${pythonLiteral(body, 1)}`]),
    ...(isStream ? ['stream=True'] : []),
    `timeout=${isStream ? 35 : 30}`,
  ]
  const use = isStream
    ? '\nfor line in answer.iter_lines():\n    print(line.decode())'
    : hasAnswer
      ? '\nprint(answer.json())'
      : ''
  return `import os

import requests

answer = requests.${method.toLowerCase()}(
${lines.map((line) => `    ${line},\n`).join('')})
answer.raise_for_status()${use}
`
}

function go(call: Call): string {
  const { method, body, token } = call
  const content = body === undefined ? '' : `\tbody := strings.NewReader(${goText(pretty(body))})\n`
  const json = '\trequest.Header.Set("Content-Type", "application/json")\n'
  return `package main

import (
	"io"
	"log"
	"net/http"
	"os"
${body === undefined ? '' : '\t"strings"\n'})

func main() {
${content}	address := os.Getenv("POSTERN_URL") + ${JSON.stringify(addressOf(call))}
	request, err := http.NewRequest("${method}", address, ${body === undefined ? 'nil' : 'body'})
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("${token}"))
${body === undefined ? '' : json}	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	log.Print(answer.Status)
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
`
}

/** A raw string as long as it can be one. */
function goText(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function isEmpty(value: unknown): boolean {
  return Object.keys(asJson(value)).length === 0
}
