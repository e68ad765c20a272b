import { isConnected, type NatsConnection } from '../nats.ts'
import { OPERATION_DUE, WAITING_DUE } from './notice-subjects.ts'

/** Tells the workers that rows are due now. Without a connection they find them at their next tick. */
export function wakeWorkers(nats: NatsConnection): void {
  if (isConnected(nats)) nats.publish(WAITING_DUE)
}

/** Tells the housekeeper that there is an operation to work on. */
export function wakeHousekeeper(nats: NatsConnection): void {
  if (isConnected(nats)) nats.publish(OPERATION_DUE)
}
