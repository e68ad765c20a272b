/** Matches all deliveries of a project. */
export const NO_FILTER = {
  status: undefined,
  eventId: undefined,
  connectionId: undefined,
  destinationId: undefined,
  sourceId: undefined,
  errorCode: undefined,
  responseStatus: undefined,
  responseClass: undefined,
  fromId: undefined,
  untilId: undefined,
}
