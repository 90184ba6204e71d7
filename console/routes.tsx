/** The pages and their addresses: one line for each.
 *  It must never hold a page's own code: each is a chunk of its own. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  retainSearchParams,
  lazyRouteComponent,
  Link,
  useLocation,
  type ErrorComponentProps,
} from '@tanstack/react-router';
import { loadChunk, loadWhenIdle } from './data/load-chunk.ts';
import { parseSearch, searchText } from './data/url-state.ts';
import { Frame } from './frame/frame.tsx';
import { nearPlace } from './frame/near-place.ts';
import { PLACES } from './frame/places.ts';
import { ErrorBanner } from './parts/banner.tsx';
import { Empty } from './parts/empty.tsx';
import { Page } from './parts/page.tsx';

/** The chosen tenant stays in the URL from page to page; the tenant of one request stays from request to request. */
const keepTenant = { middlewares: [retainSearchParams<{ tenant?: string }>(['tenant'])] };
const keepOwner = { middlewares: [retainSearchParams<{ of?: string }>(['of'])] };

const root = createRootRoute({ component: Frame, notFoundComponent: NoSuchPage, search: keepTenant });

const loads: (() => Promise<unknown>)[] = [];

const PAGES = [
  page('/', () => import('./pages/overview/overview.tsx'), 'OverviewPage'),
  page('/requests', () => import('./pages/requests/requests.tsx'), 'RequestsPage'),
  page('/requests/$requestId', () => import('./pages/request/request.tsx'), 'RequestPage', keepOwner),
  page('/statistics', () => import('./pages/statistics/statistics.tsx'), 'StatisticsPage'),
  page('/compare', () => import('./pages/compare/compare.tsx'), 'ComparePage', keepOwner),
  page('/differences', () => import('./pages/differences/differences.tsx'), 'DifferencesPage', keepOwner),
  page('/approvals', () => import('./pages/approvals/approvals.tsx'), 'ApprovalsPage'),
  page('/dead-letters', () => import('./pages/dead-letters/dead-letters.tsx'), 'DeadLettersPage'),
  page('/schedules', () => import('./pages/schedules/schedules.tsx'), 'SchedulesPage'),
  page('/tools', () => import('./pages/tools/tools.tsx'), 'ToolsPage'),
  page('/tools/$toolName', () => import('./pages/tools/tool.tsx'), 'ToolPage'),
  page('/agents', () => import('./pages/agents/agents.tsx'), 'AgentsPage'),
  page('/agents/$agentName', () => import('./pages/agents/agent.tsx'), 'AgentPage'),
];

function page<Module extends Record<string, unknown>>(
  path: string,
  load: () => Promise<Module>,
  name: keyof Module & string,
  search: { middlewares: never[] } | typeof keepOwner = { middlewares: [] },
) {
  loads.push(load);
  const safe = async (): Promise<Module> => loadChunk(load);
  const component = lazyRouteComponent(safe as () => Promise<Record<string, never>>, name);
  return createRoute({ getParentRoute: () => root, path, component, errorComponent: FailedPage, search });
}

export function createPages() {
  loadWhenIdle(loads);
  return createRouter({
    routeTree: root.addChildren(PAGES),
    basepath: '/console',
    defaultPreload: 'intent',
    parseSearch,
    stringifySearch: searchText,
  });
}

function NoSuchPage() {
  const { to, text } = nearPlace(useLocation().pathname, PLACES) ?? { to: '/', text: 'Overview' };
  return (
    <Page title="No such page">
      <Empty title="There is no page at this address.">
        Continue with <Link to={to}>{text}</Link>.
      </Empty>
    </Page>
  );
}

/** Also after an update of the service: the chunk of an old page is not there any more. */
function FailedPage({ error: thrown }: ErrorComponentProps) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return (
    <Page title="The page failed">
      <ErrorBanner error={error} onRetry={() => location.reload()} />
    </Page>
  );
}
