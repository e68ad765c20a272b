import { z } from 'zod'

import { REJECTION_REASONS } from '../../core/verify/request/signed-request.ts'

export const RejectionReason = z
  .enum(REJECTION_REASONS)
  .meta({ id: 'RejectionReason', description: 'Why a request was not verified.' })
