import { readFileSync } from 'node:fs'

import { z } from 'zod'

import { whyUnusable } from '../settings/setting-files.ts'
import { BUILT_IN_PLANS } from './built-in-plans.ts'
import { EntitlementOverrides, PLAN_NAMES, Plans } from './plans.ts'

const PlansFile = z.partialRecord(z.enum(PLAN_NAMES), EntitlementOverrides)

/**
 * The plans of this installation: the built-in ones with the members on top that the JSON file `PLANS_FILE` names by
 * plan. Throws one error with the file and every member that is wrong.
 */
export function readPlans(file: string | undefined): Plans {
  if (file === undefined) return BUILT_IN_PLANS
  const { given, faults } = read(file)
  if (faults.length > 0) throw new Error(`PLANS_FILE "${file}": ${faults.join('; ')}`)
  const whole = PLAN_NAMES.map((name) => [name, { ...BUILT_IN_PLANS[name], ...given[name] }])
  return Plans.parse(Object.fromEntries(whole))
}

/** Everything that is wrong with the file, by member. */
export function plansFaults(file: string): string[] {
  return read(file).faults
}

function read(file: string): { given: z.infer<typeof PlansFile>; faults: string[] } {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return { given: {}, faults: [whyUnusable(error)] }
  }
  const json = parse(text)
  if (!json.ok) return { given: {}, faults: [`cannot be read as JSON: ${json.reason}`] }
  const parsed = PlansFile.safeParse(json.value)
  return parsed.success
    ? { given: parsed.data, faults: [] }
    : { given: {}, faults: parsed.error.issues.flatMap(faultsOf) }
}

function parse(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) }
  }
}

function faultsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') {
    return [`${path.join('.') || 'the file'}: ${issue.message}`]
  }
  const known = path.length === 0 ? `: there is ${PLAN_NAMES.join(', ')}` : ''
  return issue.keys.map((key) => `${[...path, key].join('.')}: Unknown member${known}`)
}
