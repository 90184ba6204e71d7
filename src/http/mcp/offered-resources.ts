/** The resources of several servers as one list, and which server a URI belongs to.
 *  It must never guess between two servers: an address names the server. */
import type { Resource, ResourceTemplateType } from '@modelcontextprotocol/server';
import type { Scope } from './offered-tools.ts';
import { type TemplateClaims, templateClaims } from './questions/template-claims.ts';

export interface ListedResources {
  readonly server: string;
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[];
  /** Its lists were read once: before that it may have anything. */
  readonly isKnown: boolean;
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
  const owners = ownersOf(lists);
  const { counts } = templateClaims(lists);
  const isOnly = (server: string, uri: string): boolean =>
    owners.get(uri)?.length === 1 && lists.every((list) => list.isKnown || list.server === server);
  const shown = (server: string, uri: string, isClear: boolean): string =>
    isClear ? uri : addressOf({ server, uri });
  return {
    resources: lists.flatMap(({ server, resources }) =>
      resources.map((each) => ({ ...each, uri: shown(server, each.uri, isOnly(server, each.uri)) })),
    ),
    templates: lists.flatMap(({ server, templates }) =>
      templates.map((each) => {
        const isClear = isOnly(server, each.uriTemplate) && counts(server, each.uriTemplate);
        return { ...each, uriTemplate: shown(server, each.uriTemplate, isClear) };
      }),
    ),
    find: (uri) => {
      if (scope.kind === 'server') return { server: scope.server, uri };
      const servers = lists.map(({ server }) => server);
      return addressed(servers, uri) ?? chosen(candidates(lists, owners.get(uri) ?? [], counts, uri), uri);
    },
  };
}

/** Who lists a URI or a template. */
function ownersOf(lists: readonly ListedResources[]): ReadonlyMap<string, readonly string[]> {
  const owners = new Map<string, string[]>();
  for (const { server, resources, templates } of lists)
    for (const uri of uris(resources, templates)) owners.set(uri, [...(owners.get(uri) ?? []), server]);
  return owners;
}

function uris(resources: readonly Resource[], templates: readonly ResourceTemplateType[]): Set<string> {
  return new Set([...resources.map(({ uri }) => uri), ...templates.map(({ uriTemplate }) => uriTemplate)]);
}

/** The server of the address; null: no address, or of none of these servers. */
export function addressed(servers: readonly string[], uri: string): ResourcePlace | null {
  if (!uri.startsWith(SCHEME)) return null;
  const end = uri.indexOf('/');
  const server = uri.slice(SCHEME.length, Math.max(end, 0));
  return end !== -1 && servers.includes(server) ? { server, uri: uri.slice(end + 1) } : null;
}

/**
 * The servers that list it, else those whose template matches, and those that may list it too; else every server: a
 * tool may have named it.
 */
function candidates(
  lists: readonly ListedResources[],
  owners: readonly string[],
  counts: TemplateClaims['counts'],
  uri: string,
): readonly string[] {
  const all = lists.map(({ server }) => server);
  const claiming = owners.length > 0 ? owners : fitting(lists, counts, uri);
  if (claiming.length === 0) return all;
  const unknown = lists.filter(({ isKnown }) => !isKnown).map(({ server }) => server);
  return [...new Set([...claiming, ...unknown])];
}

/** Empty where the only template that fits could be meant for the resources of others. */
function fitting(lists: readonly ListedResources[], counts: TemplateClaims['counts'], uri: string): string[] {
  const found = lists.flatMap(({ server, templates }) => {
    const fit = templates.filter(({ uriTemplate }) => fits(uriTemplate, uri));
    return fit.length === 0
      ? []
      : [{ server, isClear: fit.some((each) => counts(server, each.uriTemplate)) }];
  });
  return found.length > 1 || found[0]?.isClear === true ? found.map(({ server }) => server) : [];
}

function chosen(servers: readonly string[], uri: string): ResourcePlace | readonly ResourcePlace[] | null {
  const [only, ...others] = servers.map((server) => ({ server, uri }));
  if (only === undefined) return null;
  return others.length === 0 ? only : [only, ...others];
}

/** Matches the fixed parts of the template in order, in linear time, whatever a server writes. */
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
