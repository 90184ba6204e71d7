/** Scope and largest body of each route.
 *  It must never have a default: a route without a rule keeps the API from starting. */
import type { Scope } from '../contract/access/access.ts';
import { type Route, type RouteRule, ROUTES } from '../contract/operations/routes.ts';

/** Addresses of the MCP server: of all calls, and of those of a run that another program leads. */
export const MCP_PATHS = ['/mcp', '/mcp/:server', '/runs/:run/mcp', '/runs/:run/mcp/:server'] as const;

/** Routes outside the description: MCP describes itself. A call asks for its own scope: see `guardClient`. */
const MCP: readonly Route[] = MCP_PATHS.flatMap((path) => [
  { method: 'GET', path, scope: 'read' },
  { method: 'POST', path, scope: 'read', content: 'work' },
  { method: 'DELETE', path, scope: 'read' },
]);

const BY_NAME: ReadonlyMap<string, Route> = new Map(
  [...Object.values<Route>(ROUTES), ...MCP].map((route) => [`${route.method} ${route.path}`, route]),
);

/** undefined: the table has no such route. */
function routeOf(method: string, url: string): Route | undefined {
  return BY_NAME.get(`${method === 'HEAD' ? 'GET' : method} ${url.replace(/\/$/, '')}`);
}

/** Bytes of a body that is neither a list nor work. */
const SMALL_BODY_BYTES = 16 * 1024;
/** Names of 1 000 directives, or the tools of a key. */
const LIST_BODY_BYTES = 512 * 1024;

/** Most bytes of a body of the route, none of them above `mostBytes`. */
export function bodyBytesOf(methods: readonly string[], url: string, mostBytes: number): number {
  const contents = methods.map((method) => routeOf(method, url)?.content);
  if (contents.includes('work')) return mostBytes;
  return Math.min(contents.includes('list') ? LIST_BODY_BYTES : SMALL_BODY_BYTES, mostBytes);
}

/** Whether it concerns the work of all tenants: only keys of the default one may call it. */
export function isOperators(method: string, url: string): boolean {
  return routeOf(method, url)?.forOperators === true;
}

/** Whether it reads what a tenant has, so that an operator may name another one. */
export function isOfTenant(method: string, url: string): boolean {
  return routeOf(method, url)?.ofTenant === true;
}

/** The second scope that a key needs for it; undefined: one is enough. */
export function secondScopeOf(method: string, url: string): Scope | undefined {
  return routeOf(method, url)?.also;
}

/** Pages that tell everyone the same: the documentation, and the files of the console, which hold no data. */
const PAGES = ['/docs', '/console', '/llms.txt'];

/** null: there is none. */
export function ruleOf(method: string, url: string): RouteRule | null {
  const isPage = url === '/' || PAGES.some((page) => url === page || url.startsWith(`${page}/`));
  if (isPage && (method === 'GET' || method === 'HEAD')) return 'public';
  return routeOf(method, url)?.scope ?? null;
}
