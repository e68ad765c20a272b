import { Navigate, useParams } from '@tanstack/react-router'

import { Loaded, Missing } from '../../parts/states.tsx'
import { useHomeOf } from './use-home-of.ts'

export function FindDelivery() {
  const { deliveryId } = useParams({ from: '/inside/d/$deliveryId' })
  const home = useHomeOf(deliveryId, (api) => api.getDelivery({ id: deliveryId }))
  return (
    <Loaded query={home}>
      {(projectId) =>
        projectId === null ? (
          <Missing noun="The delivery" />
        ) : (
          <Navigate
            to="/p/$projectId/deliveries/$deliveryId"
            params={{ projectId, deliveryId }}
            replace
          />
        )
      }
    </Loaded>
  )
}
