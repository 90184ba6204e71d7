/** The resources of several servers as one list, and which server a URI belongs to.
 *  It must never guess between two servers: an address names the server. */
import type { Resource, ResourceTemplateType } from '@modelcontextprotocol/server';
import type { Scope } from './offered-tools.ts';

export interface ListedResources {
  readonly server: string;
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[];
}

/** A resource at its server, under its own URI. */
export interface ResourcePlace {
  readonly server: string;
  readonly uri: string;
}

export interface OfferedResources {
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[];
  /** null: no server has it; a list: each of these may have it. `uri` may be a template. */
  find(uri: string): ResourcePlace | readonly ResourcePlace[] | null;
}

/** `adjutant:<server>/<uri>`: the URI of a server as it is, so that templates and queries stay what they are. */
const SCHEME = 'adjutant:';

export function addressOf({ server, uri }: ResourcePlace): string {
  return `${SCHEME}${server}/${uri}`;
}

export function offeredResources(lists: readonly ListedResources[], scope: Scope): OfferedResources {
  const owners = new Map<string, string[]>();
  for (const { server, resources, templates } of lists)
    for (const uri of uris(resources, templates)) owners.set(uri, [...(owners.get(uri) ?? []), server]);
  const shown = (server: string, uri: string): string =>
    owners.get(uri)?.length === 1 ? uri : addressOf({ server, uri });
  return {
    resources: lists.flatMap(({ server, resources }) =>
      resources.map((resource) => ({ ...resource, uri: shown(server, resource.uri) })),
    ),
    templates: lists.flatMap(({ server, templates }) =>
      templates.map((template) => ({ ...template, uriTemplate: shown(server, template.uriTemplate) })),
    ),
    find: (uri) => {
      if (scope.kind === 'server') return { server: scope.server, uri };
      const servers = lists.map(({ server }) => server);
      return addressed(servers, uri) ?? chosen(candidates(lists, owners.get(uri) ?? [], uri), uri);
    },
  };
}

function uris(resources: readonly Resource[], templates: readonly ResourceTemplateType[]): Set<string> {
  return new Set([...resources.map(({ uri }) => uri), ...templates.map(({ uriTemplate }) => uriTemplate)]);
}

/** Whose address it is; null: it is no address, or of none of these servers. */
export function addressed(servers: readonly string[], uri: string): ResourcePlace | null {
  if (!uri.startsWith(SCHEME)) return null;
  const end = uri.indexOf('/');
  const server = uri.slice(SCHEME.length, Math.max(end, 0));
  return end !== -1 && servers.includes(server) ? { server, uri: uri.slice(end + 1) } : null;
}

/** Who lists it; else whose template it fits; else every server: a tool may have named it in its result. */
function candidates(lists: readonly ListedResources[], owners: readonly string[], uri: string): string[] {
  if (owners.length > 0) return [...owners];
  const fitting = lists.filter(({ templates }) =>
    templates.some(({ uriTemplate }) => fits(uriTemplate, uri)),
  );
  return (fitting.length > 0 ? fitting : lists).map(({ server }) => server);
}

function chosen(servers: readonly string[], uri: string): ResourcePlace | readonly ResourcePlace[] | null {
  const [only, ...others] = servers.map((server) => ({ server, uri }));
  if (only === undefined) return null;
  return others.length === 0 ? only : [only, ...others];
}

/** By the fixed parts of the template, in order: it takes linear time, whatever a server writes. */
export function fits(template: string, uri: string): boolean {
  const [first = '', ...rest] = template.split(/\{[^{}]*\}/);
  const last = rest.pop();
  if (last === undefined) return template === uri;
  if (!uri.startsWith(first) || !uri.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = uri.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= uri.length - last.length;
}
