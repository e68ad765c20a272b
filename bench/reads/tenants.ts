import { newId } from '../../core/ids.ts'
import type { PlanName } from '../../core/plans/plans.ts'

/** Where a share of the traffic goes, in ten-thousandths of its era. Ids are uuids. */
export interface Route {
  share: number
  organisationId: string
  projectId: string
  sourceId: string
  /** Connections of the first and the second delivery of an event. */
  connectionIds: readonly [string, string]
  destinationIds: readonly [string, string]
  /** Its first destination answers no attempt. */
  isFailing: boolean
}

/** The project that is read, with what of it stands for a case of its own. */
export interface Measured {
  organisationId: string
  projectId: string
  /** Ordinary sources, the first of them with 40 % of the traffic. */
  routes: readonly Route[]
  /** A source that seldom has an event, and one that had none for two months. */
  rare: Route
  retired: Route
  /** Its first destination fails every attempt; what is younger than a week waits. */
  failing: Route
}

/** The owners of a class's events at some time of the past. */
export type Era = 'hobby' | 'launch' | 'scale' | 'moved' | 'others' | 'enterprise' | 'retired'

const WHOLE = 10_000

/** Other organisations of every plan, each with two projects of three sources. */
export function makeOthers(plans: readonly PlanName[]): { plan: PlanName; routes: Route[] }[] {
  return plans.map((plan) => {
    const organisationId = anyId()
    const routes = [0, 1].flatMap(() => {
      const projectId = anyId()
      return [0, 1, 2].map(() => makeRoute(organisationId, projectId))
    })
    return { plan, routes }
  })
}

function anyId(): string {
  return newId(Date.now())
}

function makeRoute(organisationId: string, projectId: string): Route {
  return {
    share: 1,
    organisationId,
    projectId,
    sourceId: anyId(),
    connectionIds: [anyId(), anyId()],
    destinationIds: [anyId(), anyId()],
    isFailing: false,
  }
}

/** The measured project has seven tenths of its class, save while it was in the class below. */
export function routesOf(
  measured: Measured,
  others: readonly { plan: PlanName; routes: Route[] }[],
): Record<Era, Route[]> {
  const of = (plan: PlanName): Route[] => others.find((other) => other.plan === plan)?.routes ?? []
  const main = [...measured.routes, measured.failing, measured.rare]
  return {
    hobby: filled(of('hobby')),
    launch: filled(of('launch')),
    scale: filled(of('scale')),
    moved: filled(of('scale'), main),
    others: filled(of('enterprise')),
    enterprise: filled(of('enterprise'), main),
    retired: filled(of('enterprise'), [...main, measured.retired]),
  }
}

/** Divides the rest that the given shares leave evenly. */
function filled(even: readonly Route[], given: readonly Route[] = []): Route[] {
  const left = WHOLE - given.reduce((sum, { share }) => sum + share, 0)
  const each = Math.floor(left / even.length)
  const rest = left - each * even.length
  return [...given, ...even.map((route, n) => ({ ...route, share: each + (n === 0 ? rest : 0) }))]
}
