// Made from the OpenAPI document by `npx vitest run --project unit api/openapi/client -u`; do not edit.

/** Each operation of the API with its method and path. */
export const OPERATIONS = {
  /** List the projects that the key reaches. (GET /v1/projects) */
  listProjects: 'GET /projects',
  /** Create a project. (POST /v1/projects) */
  createProject: 'POST /projects',
  /** Read a project. (GET /v1/projects/{id}) */
  getProject: 'GET /projects/{id}',
  /** Change a project. (PATCH /v1/projects/{id}) */
  updateProject: 'PATCH /projects/{id}',
  /** Delete a project. (DELETE /v1/projects/{id}) */
  deleteProject: 'DELETE /projects/{id}',
  /** List the sources of a project. (GET /v1/sources) */
  listSources: 'GET /sources',
  /** Create a source. (POST /v1/sources) */
  createSource: 'POST /sources',
  /** Read a source. (GET /v1/sources/{id}) */
  getSource: 'GET /sources/{id}',
  /** Change a source. (PATCH /v1/sources/{id}) */
  updateSource: 'PATCH /sources/{id}',
  /** Delete a source. (DELETE /v1/sources/{id}) */
  deleteSource: 'DELETE /sources/{id}',
  /** Switch a source on or off. (POST /v1/sources/{id}/toggle) */
  toggleSource: 'POST /sources/{id}/toggle',
  /** Give a source another ingest address. (POST /v1/sources/{id}/rotate-mask) */
  rotateSourceMask: 'POST /sources/{id}/rotate-mask',
  /** Give the verifier of a source another secret. (POST /v1/sources/{id}/rotate-secret) */
  rotateSourceSecret: 'POST /sources/{id}/rotate-secret',
  /** Go back to the previous secret of a source. (POST /v1/sources/{id}/cancel-rotation) */
  cancelSourceRotation: 'POST /sources/{id}/cancel-rotation',
  /** List the verifier presets. (GET /v1/verifier-presets) */
  listVerifierPresets: 'GET /verifier-presets',
  /** Test whether a source would accept a request. (POST /v1/sources/{id}/test-signature) */
  testSignature: 'POST /sources/{id}/test-signature',
  /** List the destinations of a project. (GET /v1/destinations) */
  listDestinations: 'GET /destinations',
  /** Create a destination. (POST /v1/destinations) */
  createDestination: 'POST /destinations',
  /** Read a destination. (GET /v1/destinations/{id}) */
  getDestination: 'GET /destinations/{id}',
  /** Change a destination. (PATCH /v1/destinations/{id}) */
  updateDestination: 'PATCH /destinations/{id}',
  /** Delete a destination. (DELETE /v1/destinations/{id}) */
  deleteDestination: 'DELETE /destinations/{id}',
  /** Switch a destination on or off. (POST /v1/destinations/{id}/toggle) */
  toggleDestination: 'POST /destinations/{id}/toggle',
  /** Reveal the signing secret of a destination. (GET /v1/destinations/{id}/signing-secret) */
  getSigningSecret: 'GET /destinations/{id}/signing-secret',
  /** Give a destination another signing secret. (POST /v1/destinations/{id}/rotate-signing-secret) */
  rotateSigningSecret: 'POST /destinations/{id}/rotate-signing-secret',
  /** Send a test delivery. (POST /v1/destinations/{id}/test-delivery) */
  testDelivery: 'POST /destinations/{id}/test-delivery',
  /** List the connections of a project. (GET /v1/connections) */
  listConnections: 'GET /connections',
  /** Connect a source to a destination. (POST /v1/connections) */
  createConnection: 'POST /connections',
  /** Read a connection. (GET /v1/connections/{id}) */
  getConnection: 'GET /connections/{id}',
  /** Change a connection. (PATCH /v1/connections/{id}) */
  updateConnection: 'PATCH /connections/{id}',
  /** Delete a connection. (DELETE /v1/connections/{id}) */
  deleteConnection: 'DELETE /connections/{id}',
  /** Switch a connection on or off. (POST /v1/connections/{id}/toggle) */
  toggleConnection: 'POST /connections/{id}/toggle',
  /** List the connectors of a project. (GET /v1/connectors) */
  listConnectors: 'GET /connectors',
  /** Create a connector. (POST /v1/connectors) */
  createConnector: 'POST /connectors',
  /** Read a connector. (GET /v1/connectors/{id}) */
  getConnector: 'GET /connectors/{id}',
  /** Change a connector. (PATCH /v1/connectors/{id}) */
  updateConnector: 'PATCH /connectors/{id}',
  /** Delete a connector. (DELETE /v1/connectors/{id}) */
  deleteConnector: 'DELETE /connectors/{id}',
  /** Disable or enable a connector. (POST /v1/connectors/{id}/toggle-disabled) */
  toggleConnector: 'POST /connectors/{id}/toggle-disabled',
  /** Replace the enrolment key of a connector. (POST /v1/connectors/{id}/regenerate-enrollment) */
  regenerateEnrollment: 'POST /connectors/{id}/regenerate-enrollment',
  /** Create or change a connector by its name. (PUT /v1/connectors/by-name/{name}) */
  upsertConnector: 'PUT /connectors/by-name/{name}',
  /** List the replicas of a connector. (GET /v1/connectors/{id}/replicas) */
  listReplicas: 'GET /connectors/{id}/replicas',
  /** Revoke a replica. (POST /v1/connectors/{id}/replicas/{replicaId}/revoke) */
  revokeReplica: 'POST /connectors/{id}/replicas/{replicaId}/revoke',
  /** Enrol an agent. (POST /v1/connectors/bootstrap) */
  bootstrapReplica: 'POST /connectors/bootstrap',
  /** Report that an agent is running. (POST /v1/connectors/replicas/heartbeat) */
  reportReplica: 'POST /connectors/replicas/heartbeat',
  /** Create or change a project by its name. (PUT /v1/projects/by-name/{name}) */
  upsertProject: 'PUT /projects/by-name/{name}',
  /** Create or change a source by its name. (PUT /v1/sources/by-name/{name}) */
  upsertSource: 'PUT /sources/by-name/{name}',
  /** Create or change a destination by its name. (PUT /v1/destinations/by-name/{name}) */
  upsertDestination: 'PUT /destinations/by-name/{name}',
  /** Create or change a connection by its name. (PUT /v1/connections/by-name/{name}) */
  upsertConnection: 'PUT /connections/by-name/{name}',
  /** Tell whether a filter lets an event pass. (POST /v1/connections/test-filter) */
  testFilter: 'POST /connections/test-filter',
  /** List events. (GET /v1/events) */
  listEvents: 'GET /events',
  /** Tell whether the project has ever stored an event. (GET /v1/events/has-any) */
  hasAnyEvent: 'GET /events/has-any',
  /** Read an event with its newest deliveries. (GET /v1/events/{id}) */
  getEvent: 'GET /events/{id}',
  /** Read the timeline of an event, with every attempt. (GET /v1/events/{id}/timeline) */
  getEventTimeline: 'GET /events/{id}/timeline',
  /** Send an event again. (POST /v1/events/{id}/replay) */
  replayEvent: 'POST /events/{id}/replay',
  /** List deliveries. (GET /v1/deliveries) */
  listDeliveries: 'GET /deliveries',
  /** Read a delivery with its attempts. (GET /v1/deliveries/{id}) */
  getDelivery: 'GET /deliveries/{id}',
  /** Attempt a delivery now. (POST /v1/deliveries/{id}/retry) */
  retryDelivery: 'POST /deliveries/{id}/retry',
  /** Cancel a waiting delivery. (POST /v1/deliveries/{id}/cancel) */
  cancelDelivery: 'POST /deliveries/{id}/cancel',
  /** Read the plan, what it grants and the subscription. (GET /v1/billing/plan) */
  getPlan: 'GET /billing/plan',
  /** Read the deliveries counted in the present usage window. (GET /v1/billing/usage) */
  getUsage: 'GET /billing/usage',
  /** End the subscription at the end of its period. (POST /v1/billing/cancel) */
  cancelSubscription: 'POST /billing/cancel',
  /** Take back a cancellation before it takes effect. (POST /v1/billing/resume) */
  resumeSubscription: 'POST /billing/resume',
  /** Change the plan now or at the end of the period. (POST /v1/billing/change-plan) */
  changePlan: 'POST /billing/change-plan',
  /** Drop the change of plan that is scheduled for the end of the period. (POST /v1/billing/revert-scheduled-change) */
  revertScheduledChange: 'POST /billing/revert-scheduled-change',
  /** Count events and outcomes over time. (GET /v1/stats/dashboard) */
  getDashboard: 'GET /stats/dashboard',
  /** Show how much waited over time. (GET /v1/stats/backlog) */
  getBacklog: 'GET /stats/backlog',
  /** Count the deliveries that wait now. (GET /v1/deliveries/stats) */
  getWaitingDeliveries: 'GET /deliveries/stats',
  /** Retry, replay or cancel everything that a filter matches. (POST /v1/operations) */
  createOperation: 'POST /operations',
  /** List operations. (GET /v1/operations) */
  listOperations: 'GET /operations',
  /** Tell how far an operation would reach, without running it. (POST /v1/operations/plan) */
  planOperation: 'POST /operations/plan',
  /** Read an operation with its progress. (GET /v1/operations/{id}) */
  getOperation: 'GET /operations/{id}',
  /** Stop an operation. (POST /v1/operations/{id}/cancel) */
  cancelOperation: 'POST /operations/{id}/cancel',
  /** Read this document. (GET /v1/openapi.json) */
  getOpenApi: 'GET /openapi.json',
} as const
