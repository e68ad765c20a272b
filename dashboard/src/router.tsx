import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'

import { PosternError } from './api/reach.ts'
import { beginEvent } from './pages/event/queries.ts'
import { beginOverview } from './pages/overview/queries.ts'
import * as searches from './routes/searches.ts'
import { queryClient } from './session/query-client.ts'
import { projectsQuery, sessionQuery } from './session/session.ts'
import { NotFoundPage, PageFault } from './shell/faults.tsx'
import { Frame } from './shell/frame.tsx'

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFoundPage,
  errorComponent: PageFault,
})

const outside = { getParentRoute: () => root } as const
const OUTSIDE = [
  createRoute({
    ...outside,
    path: '/sign-in',
    validateSearch: searches.signInSearch,
    component: lazyRouteComponent(() => import('./pages/outside/sign-in.tsx'), 'SignIn'),
  }),
  createRoute({
    ...outside,
    path: '/sign-up',
    component: lazyRouteComponent(() => import('./pages/outside/sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    ...outside,
    path: '/setup',
    component: lazyRouteComponent(() => import('./pages/outside/setup.tsx'), 'Setup'),
  }),
  createRoute({
    ...outside,
    path: '/invite',
    component: lazyRouteComponent(() => import('./pages/outside/invite.tsx'), 'Invite'),
  }),
  createRoute({
    ...outside,
    path: '/forgot',
    component: lazyRouteComponent(() => import('./pages/outside/forgot.tsx'), 'Forgot'),
  }),
  createRoute({
    ...outside,
    path: '/reset',
    component: lazyRouteComponent(() => import('./pages/outside/reset.tsx'), 'Reset'),
  }),
  createRoute({
    ...outside,
    path: '/verify',
    component: lazyRouteComponent(() => import('./pages/outside/verify.tsx'), 'Verify'),
  }),
] as const

/** Everything that needs a session. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ location }) => {
    void queryClient.prefetchQuery(projectsQuery)
    try {
      await queryClient.ensureQueryData(sessionQuery)
    } catch (error) {
      if (!(error instanceof PosternError) || error.status !== 401) throw error
      // oxlint-disable-next-line typescript/only-throw-error -- the router's own way to lead elsewhere
      throw redirect({ to: '/sign-in', search: { next: location.href } })
    }
  },
  component: lazyRouteComponent(() => import('./shell/inside.tsx'), 'InsidePage'),
})
const within = { getParentRoute: () => inside } as const

const HOME = [
  createRoute({
    ...within,
    path: '/',
    component: lazyRouteComponent(() => import('./pages/find/home.tsx'), 'Home'),
  }),
  createRoute({
    ...within,
    path: '/e/$eventId',
    component: lazyRouteComponent(() => import('./pages/find/find-event.tsx'), 'FindEvent'),
  }),
  createRoute({
    ...within,
    path: '/d/$deliveryId',
    component: lazyRouteComponent(() => import('./pages/find/find-delivery.tsx'), 'FindDelivery'),
  }),
  createRoute({
    ...within,
    path: '/me',
    component: lazyRouteComponent(() => import('./pages/account/me.tsx'), 'Me'),
  }),
] as const

const project = createRoute({
  ...within,
  path: '/p/$projectId',
  component: lazyRouteComponent(() => import('./shell/project-page.tsx'), 'ProjectPage'),
})
const here = { getParentRoute: () => project } as const

const TRAFFIC = [
  createRoute({
    ...here,
    path: '/',
    validateSearch: searches.overviewSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ params, deps, preload }) => {
      if (!preload) beginOverview(params.projectId, deps)
    },
    component: lazyRouteComponent(() => import('./pages/overview/overview.tsx'), 'Overview'),
  }),
  createRoute({
    ...here,
    path: '/start',
    validateSearch: searches.startSearch,
    component: lazyRouteComponent(() => import('./pages/start/start.tsx'), 'Start'),
  }),
  createRoute({
    ...here,
    path: '/events',
    validateSearch: searches.eventSearch,
    component: lazyRouteComponent(() => import('./pages/events/events.tsx'), 'Events'),
  }),
  createRoute({
    ...here,
    path: '/events/$eventId',
    // A list under the pointer would ask for each of its rows.
    loader: ({ params, preload }) => {
      if (!preload) beginEvent(params.projectId, params.eventId)
    },
    component: lazyRouteComponent(() => import('./pages/event/event.tsx'), 'EventPage'),
  }),
  createRoute({
    ...here,
    path: '/deliveries',
    validateSearch: searches.deliverySearch,
    component: lazyRouteComponent(() => import('./pages/deliveries/deliveries.tsx'), 'Deliveries'),
  }),
  createRoute({
    ...here,
    path: '/deliveries/$deliveryId',
    component: lazyRouteComponent(() => import('./pages/deliveries/delivery.tsx'), 'DeliveryPage'),
  }),
  createRoute({
    ...here,
    path: '/operations',
    component: lazyRouteComponent(() => import('./pages/operations/operations.tsx'), 'Operations'),
  }),
  createRoute({
    ...here,
    path: '/operations/$operationId',
    component: lazyRouteComponent(
      () => import('./pages/operations/operation.tsx'),
      'OperationPage',
    ),
  }),
  createRoute({
    ...here,
    path: '/alerts',
    component: lazyRouteComponent(() => import('./pages/alerts/alerts.tsx'), 'Alerts'),
  }),
] as const

const CONFIGURATION = [
  createRoute({
    ...here,
    path: '/sources',
    component: lazyRouteComponent(() => import('./pages/sources/sources.tsx'), 'Sources'),
  }),
  createRoute({
    ...here,
    path: '/sources/new',
    component: lazyRouteComponent(() => import('./pages/sources/new-source.tsx'), 'NewSource'),
  }),
  createRoute({
    ...here,
    path: '/sources/$sourceId',
    validateSearch: searches.sourceSearch,
    component: lazyRouteComponent(() => import('./pages/sources/source.tsx'), 'SourcePage'),
  }),
  createRoute({
    ...here,
    path: '/destinations',
    component: lazyRouteComponent(
      () => import('./pages/destinations/destinations.tsx'),
      'Destinations',
    ),
  }),
  createRoute({
    ...here,
    path: '/destinations/new',
    validateSearch: searches.newDestinationSearch,
    component: lazyRouteComponent(
      () => import('./pages/destinations/new-destination.tsx'),
      'NewDestination',
    ),
  }),
  createRoute({
    ...here,
    path: '/destinations/$destinationId',
    validateSearch: searches.tabSearch,
    component: lazyRouteComponent(
      () => import('./pages/destinations/destination.tsx'),
      'DestinationPage',
    ),
  }),
  createRoute({
    ...here,
    path: '/connections',
    component: lazyRouteComponent(
      () => import('./pages/connections/connections.tsx'),
      'Connections',
    ),
  }),
  createRoute({
    ...here,
    path: '/connections/new',
    validateSearch: searches.newConnectionSearch,
    component: lazyRouteComponent(
      () => import('./pages/connections/new-connection.tsx'),
      'NewConnection',
    ),
  }),
  createRoute({
    ...here,
    path: '/connections/$connectionId',
    validateSearch: searches.connectionSearch,
    component: lazyRouteComponent(
      () => import('./pages/connections/connection.tsx'),
      'ConnectionPage',
    ),
  }),
  createRoute({
    ...here,
    path: '/connectors',
    component: lazyRouteComponent(() => import('./pages/connectors/connectors.tsx'), 'Connectors'),
  }),
  createRoute({
    ...here,
    path: '/connectors/$connectorId',
    component: lazyRouteComponent(
      () => import('./pages/connectors/connector.tsx'),
      'ConnectorPage',
    ),
  }),
] as const

const organisation = createRoute({
  ...within,
  path: '/org/$organisationId',
  component: lazyRouteComponent(() => import('./shell/organisation-page.tsx'), 'OrganisationPage'),
})
const inOrganisation = { getParentRoute: () => organisation } as const
const ORGANISATION = [
  createRoute({
    ...inOrganisation,
    path: '/projects',
    component: lazyRouteComponent(() => import('./pages/projects/projects.tsx'), 'Projects'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/members',
    component: lazyRouteComponent(() => import('./pages/members/members.tsx'), 'Members'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/keys',
    component: lazyRouteComponent(() => import('./pages/keys/keys.tsx'), 'Keys'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/agents',
    component: lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/plan',
    component: lazyRouteComponent(() => import('./pages/plan/plan.tsx'), 'Plan'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/audit',
    component: lazyRouteComponent(() => import('./pages/audit/audit.tsx'), 'Audit'),
  }),
  createRoute({
    ...inOrganisation,
    path: '/settings',
    component: lazyRouteComponent(() => import('./pages/settings/settings.tsx'), 'Settings'),
  }),
] as const

const tree = root.addChildren([
  ...OUTSIDE,
  inside.addChildren([
    ...HOME,
    project.addChildren([...TRAFFIC, ...CONFIGURATION]),
    organisation.addChildren([...ORGANISATION]),
  ]),
])

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

/** The session, the projects and the scripts of the page come at once, not one after the other. */
export function beginPage(): void {
  const ids = new Set(router.matchRoutes(router.latestLocation).map(({ routeId }) => routeId))
  if (ids.has(inside.id)) {
    void queryClient.prefetchQuery(sessionQuery)
    void queryClient.prefetchQuery(projectsQuery)
  }
  for (const route of Object.values(router.routesById)) {
    if (ids.has(route.id)) void router.loadRouteChunk(route)
  }
}
