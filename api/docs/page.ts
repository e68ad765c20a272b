import { createHash } from 'node:crypto'

import { inlined, type Json } from '../openapi/json.ts'
import { Html, html, prose } from './html.ts'
import {
  Document,
  mediaOf,
  operationsOf,
  type Operation,
  type Parameter,
} from './parsed-document.ts'
import { member, members } from './schema-members.ts'
import { STYLE } from './style.ts'

/** Where an operation is shown, by its place among parameters. */
const PLACES = { path: 'Path', query: 'Query', header: 'Headers' } as const

/** The page may load nothing and run nothing: what it shows is in it. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** The reference of the API for people, made of the document that programs read. */
export function docsPage(openApi: Json): string {
  const document = Document.parse(inlined(openApi))
  const { info, tags } = document
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <div class="page">
          <header>
            <h1>${info.title}</h1>
            ${prose(info.description)}
            <p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
          </header>
          <nav aria-label="Operations">${tags.map(({ name }) => contents(document, name))}</nav>
          <main>${tags.map((tag) => section(document, tag))}</main>
        </div>
      </body>
    </html>`.text
}

function contents(document: Document, tag: string): Html {
  const links = operationsOf(document, tag).map(
    ({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>`,
  )
  return html`<details>
    <summary>${tag}</summary>
    <ul>
      ${links}
    </ul>
  </details>`
}

function section(document: Document, { name, description }: Document['tags'][number]): Html {
  return html`<section aria-labelledby="tag-${name}">
    <h2 id="tag-${name}">${name}</h2>
    ${prose(description)}
    ${operationsOf(document, name).map((operation) => article(document, operation))}
  </section>`
}

function article(document: Document, operation: Operation): Html {
  const { operationId, summary, method, path, description, requestBody } = operation
  const { schemas } = document.components
  const body = mediaOf(requestBody?.content)
  return html`<article class="operation" id="${operationId}">
    <h3>${summary}</h3>
    <p class="call">
      <span class="method ${method.toLowerCase()}">${method}</span><code>${path}</code>
    </p>
    ${prose(description)}
    ${Object.entries(PLACES).map(([place, title]) =>
      list(
        title,
        operation.parameters
          .filter((parameter) => parameter.in === place)
          .map((parameter) => row(parameter, document)),
      ),
    )}
    ${body === undefined ? undefined : list('Body', members(body.schema, schemas))}
    <h4>Request</h4>
    ${operation['x-codeSamples'].map(
      ({ label, source }, place) =>
        html`<details class="code" ${new Html(place === 0 ? 'open' : '')}>
          <summary>${label}</summary>
          <pre tabindex="0"><code>${source}</code></pre>
        </details>`,
    )}
    ${answers(document, operation)}
  </article>`
}

function row({ name, schema, required, description }: Parameter, document: Document): Html {
  const text = description === undefined ? {} : { text: description }
  const { schemas } = document.components
  return member(name, schema, { components: schemas, isRequired: required, ...text })
}

function list(title: string, rows: readonly Html[]): Html | undefined {
  return rows.length === 0
    ? undefined
    : html`<h4>${title}</h4>
        <dl>${rows}</dl>`
}

/** Successes with their example and members, then the errors by status with what each code means. */
function answers({ components }: Document, { responses }: Operation): Html {
  const entries = Object.entries(responses)
  const good = entries.filter(([status]) => status.startsWith('2'))
  const bad = entries.filter(([status]) => !status.startsWith('2'))
  return html`${good.map(([status, { content }]) => {
      const media = mediaOf(content)
      if (media === undefined)
        return html`<h4>Answer ${status}</h4>
          <p class="note">Without a body.</p>`
      const rows = members(media.schema, components.schemas)
      return html`<h4>Answer ${status}</h4>
        <pre tabindex="0"><code>${shown(media.example)}</code></pre>
        ${
          rows.length === 0
            ? undefined
            : html`<details class="answer">
                <summary>Its members</summary>
                <dl>${rows}</dl>
              </details>`
        }`
    })}
    <details class="codes">
      <summary>Errors</summary>
      <dl>
        ${bad.map(
          ([status, { description }]) =>
            html`<div class="member">
              <dt><code>${status}</code></dt>
              <dd>${prose(description)}</dd>
            </div>`,
        )}
      </dl>
    </details>`
}

function shown(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}
