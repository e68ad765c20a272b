import { readFileSync } from 'node:fs'

import { z } from 'zod'

import { BUILT_IN_PLANS } from './built-in-plans.ts'
import { EntitlementOverrides, PLAN_NAMES, Plans } from './plans.ts'

const PlansFile = z.partialRecord(z.enum(PLAN_NAMES), EntitlementOverrides)

/**
 * The plans of this installation: the built-in ones with the members on top that the JSON file `PLANS_FILE` names by
 * plan. Throws one error with the file and every member that is wrong.
 */
export function readPlans(file: string | undefined): Plans {
  if (file === undefined) return BUILT_IN_PLANS
  const given = PlansFile.safeParse(parse(file))
  if (!given.success) {
    const faults = given.error.issues.flatMap(faultsOf)
    throw new Error(`Cannot start: PLANS_FILE "${file}": ${faults.join('; ')}`)
  }
  const whole = PLAN_NAMES.map((name) => [name, { ...BUILT_IN_PLANS[name], ...given.data[name] }])
  return Plans.parse(Object.fromEntries(whole))
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`Cannot start: PLANS_FILE "${file}" cannot be read as JSON: ${reason}`, {
      cause,
    })
  }
}

function faultsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') {
    return [`${path.join('.') || 'the file'}: ${issue.message}`]
  }
  return issue.keys.map((key) => `${[...path, key].join('.')}: Unknown member`)
}
