import { callJson } from './auth.ts'

interface Sent {
  id: string
  status: string | null
  attempts: number | null
  lastError: string | null
}

export interface Alert {
  id: string
  type: string
  projectId: string | null
  subject: { id: string; name: string }
  level: number
  summary: string
  advice: string
  evidence: Readonly<Record<string, unknown>>
  openedAt: string
  closedAt: string | null
  acknowledgedAt: string | null
  acknowledgedBy: string | null
  mutedUntil: string | null
  notifications: { type: string; level: number; at: string; mails: number; delivery: Sent | null }[]
}

export interface AlertList {
  data: Alert[]
  nextCursor: string | null
  openCount: number
}

export interface AlertEndpoint {
  url: string
  isEnabled: boolean
  disabledReason: string | null
  deliveries: (Sent & { type: string | null; at: string })[]
}

export interface AlertMails {
  isOffered: boolean
  types: string[]
  unwanted: string[]
}

/** Calls the routes of alerts of a project. */
export async function callAlerts<T>(
  projectId: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  return await callJson<T>(method, `/app/api/${projectId}/alerts${path}`, body)
}
