/** Describes the operations of a tag, for readers of the reference. */
export const TAGS: Readonly<Record<string, string>> = {
  Projects: 'A project holds sources, destinations and connections, and keeps them from others.',
  Sources: 'A source is an address that takes webhooks, and knows how to verify them.',
  Destinations: 'A destination is an endpoint that webhooks are delivered to, with its pace.',
  Connections: 'A connection routes the events of a source to a destination, through a filter.',
  Connectors: 'A connector carries deliveries to destinations that accept no visitors.',
  Events: 'An event is a webhook as it came in. It never changes afterwards.',
  Deliveries: 'A delivery takes one event to one destination, over as many attempts as it needs.',
  Operations: 'An operation retries, replays or cancels many deliveries at once.',
  Statistics: 'Counts of events and of delivery outcomes over time.',
  Billing: 'The plan of the organisation, and what was used of it.',
  API: 'The description of this API.',
}
