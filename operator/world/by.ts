/** Lists of objects by what they have in common. */
export const BY_RELAY = 'relay'
export const BY_UID = 'uid'
export const BY_RESOURCE = 'resource'
export const BY_SECRET = 'secret'
export const BY_WORKLOAD = 'workload'
