import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { OWNER, visitAsMember, visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'a stranger signs in and comes to the page that they wanted',
  async () => {
    // Makes the account, if this file is the first.
    await (await visitAsOwner(browser, told))[Symbol.asyncDispose]()
    await using visit = await openVisit(browser, told.apiUrl)
    const { page, faults } = visit
    await page.goto(`${told.apiUrl}/p/${told.projectId}/sources`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Email or password is wrong').waitFor()
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sources', exact: true }).waitFor()

    await page.getByLabel(`Account of ${OWNER.name}`).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto(`${told.apiUrl}/p/${told.projectId}`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'an address of elsewhere is no place to go to after signing in',
  async () => {
    await using visit = await openVisit(browser, told.apiUrl)
    const { page } = visit
    await page.goto(`${told.apiUrl}/sign-in?next=${encodeURIComponent('//evil.example/')}`)
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    expect(new URL(page.url()).origin).toBe(told.apiUrl)
  },
)

test.skipIf(!hasChromium)('a key is shown once, works at once, and ends at once', async () => {
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(`${told.apiUrl}/org/${told.organisationId}/keys`)
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('ci-deploy')
  await page.getByRole('button', { name: 'Make the key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Copy the key now' })
  const key = await dialog.getByText(/^pst_/).innerText()
  const ask = async () =>
    (await fetch(`${told.apiUrl}/v1/sources`, { headers: { authorization: `Bearer ${key}` } }))
      .status
  expect(await ask()).toBe(200)
  expect(await dialog.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true)
  await dialog.getByLabel('I have stored it').check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  expect(await page.content()).not.toContain(key)

  const row = page.getByRole('row', { name: /ci-deploy/ })
  await row.getByRole('button', { name: 'Revoke…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await row.getByText('Revoked').waitFor()
  expect(await ask()).toBe(401)
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'an agent is made with an end, shown once, works at once, and ends at once',
  async () => {
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(`${told.apiUrl}/org/${told.organisationId}/keys`)
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    await page.getByRole('button', { name: 'New agent' }).click()
    await page.getByLabel('Name').fill('claude-code')
    await page.getByLabel('Ends').selectOption('in 30 days')
    await page.getByRole('button', { name: 'Make the agent' }).click()
    const dialog = page.getByRole('dialog', { name: 'Copy the token now' })
    const token = await dialog.getByText(/^pst_ag_/).innerText()
    const call = async (name: string, input: object) =>
      (
        await fetch(`${told.apiUrl}/capabilities/${name}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(input),
        })
      ).status
    expect(await call('account.select_project', { projectId: told.projectId })).toBe(200)
    expect(await dialog.getByText(`${told.apiUrl}/mcp`).isVisible()).toBe(true)
    expect(await dialog.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true)
    await dialog.getByLabel('I have stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(token)

    await page.reload()
    const row = page.getByRole('row', { name: /claude-code/ })
    await row.getByText('Default').waitFor()
    await row.getByText(OWNER.email).waitFor()
    await row.getByText(/in (?:29(?:\.\d)?|30) d/).waitFor()
    await row.getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('Revoked').waitFor()
    expect(await call('account.list_projects', {})).toBe(401)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'an invitation link makes a member, who sees what they may not do and why',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    await using visit = await visitAsMember(browser, told, `bo-${Date.now()}@example.com`)
    const { page, faults } = visit
    await page.goto(place.at(`/sources/${source.id}?tab=settings`))
    const remove = page.getByRole('button', { name: 'Delete the source…' })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    expect(await remove.getAttribute('title')).toContain('owner or admin')
    await remove.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)

    await page.goto(`${told.apiUrl}/org/${told.organisationId}/audit`)
    await page.getByText('You may not see this').waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a member rescopes and revokes a key of their own, and leaves',
  async () => {
    const email = `ed-${Date.now()}@example.com`
    await using visit = await visitAsMember(browser, told, email)
    const { page, faults } = visit
    await page.goto(`${told.apiUrl}/org/${told.organisationId}/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill(email)
    await page.getByRole('button', { name: 'Make the key' }).click()
    const made = page.getByRole('dialog', { name: 'Copy the key now' })
    await made.getByLabel('I have stored it').check()
    await made.getByRole('button', { name: 'Done' }).click()
    const key = page.getByRole('row', { name: email })
    await key.getByRole('button', { name: 'Rescope…' }).click()
    await page.getByLabel('Level of events').selectOption('none')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await key.getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await key.getByText('Revoked').waitFor()

    await page.getByRole('link', { name: 'Members' }).click()
    const other = page
      .getByRole('row', { name: OWNER.email })
      .getByRole('button', { name: 'Remove…' })
    expect(await other.getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('row', { name: email }).getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('You belong to no project').waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'the owner invites somebody, and the link that is shown works',
  async () => {
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    const email = `cy-${Date.now()}@example.com`
    await page.goto(`${told.apiUrl}/org/${told.organisationId}/members`)
    await page.getByRole('button', { name: 'Invite…' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Make the invitation' }).click()
    const link = await page.getByRole('dialog').locator('code').innerText()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { name: 'Open invitations' }).waitFor()

    await using other = await openVisit(browser, told.apiUrl)
    await other.page.goto(link)
    await other.page.getByLabel('Your name').fill('Cy')
    await other.page.getByLabel('Email').fill(email)
    await other.page.getByLabel('Password').fill(OWNER.password)
    await other.page.getByRole('button', { name: 'Join' }).click()
    await other.page.getByLabel('Account of Cy').waitFor()
    expect([...faults, ...other.faults]).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'the dialog of a removal lists the keys and agents of the member, and keeps the ticked ones',
  async () => {
    const email = `fay-${Date.now()}@example.com`
    await using member = await visitAsMember(browser, told, email)
    const make = async (kind: 'keys' | 'agents', wish: object) =>
      await member.page.request.post(
        `${told.apiUrl}/auth/organisations/${told.organisationId}/${kind}`,
        { headers: { origin: told.apiUrl }, data: wish },
      )
    const kept: { key: string } = await (
      await make('keys', { name: `kept of ${email}`, permissions: null })
    ).json()
    const ended: { key: string } = await (
      await make('keys', { name: `ended of ${email}`, permissions: null })
    ).json()
    await make('agents', { name: `agent of ${email}` })
    const ask = async ({ key }: { key: string }) =>
      (await fetch(`${told.apiUrl}/v1/sources`, { headers: { authorization: `Bearer ${key}` } }))
        .status

    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(`${told.apiUrl}/org/${told.organisationId}/members`)
    const row = page.getByRole('row', { name: email })
    await row.getByRole('button', { name: 'Remove…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(`Keep agent agent of ${email}`).waitFor()
    expect(await dialog.getByRole('checkbox').count()).toBe(3)
    await dialog.getByLabel(`Keep key kept of ${email}`).check()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    expect([await ask(kept), await ask(ended)]).toEqual([200, 401])
    expect(faults).toEqual([])
  },
)
