/** Which templates say enough to decide whose a URI is: those with a beginning of their own, that no other server uses.
 *  It must never let a server claim by a template what others name: `{+any}` fits every URI. */
import type { ListedResources } from '../offered-resources.ts';

export interface TemplateClaims {
  counts(server: string, template: string): boolean;
}

/** The fixed beginning of a URI or template; `root` is null where it says too little, as `https://{host}`. */
interface Beginning {
  readonly scheme: string;
  readonly root: string | null;
  /** It fits every host of its scheme. */
  readonly isOpen: boolean;
}

const UNFIXED: Beginning = { scheme: '', root: null, isOpen: false };

/** Names that any server may have: only with a name behind them do they identify one. */
const COMMON: ReadonlySet<string> = new Set(
  [
    'blob',
    'data',
    'file',
    'ftp',
    'git',
    'http',
    'https',
    'mailto',
    'resource',
    'ssh',
    'ui',
    'urn',
    'ws',
    'wss',
  ].map((name) => `${name}:`),
);
const FIXED = /^([a-z][a-z0-9+.-]*:)(?:\/\/([^/?#]*)([/?#])?)?/;

export function templateClaims(lists: readonly ListedResources[]): TemplateClaims {
  const users = usersOf(lists);
  const isOnly = (server: string, beginning: string): boolean =>
    [...(users.get(beginning) ?? [])].every((user) => user === server);
  return {
    counts(server, template) {
      if (lists.length === 1) return true;
      const { scheme, root } = beginningOf(template);
      return root !== null && [root, open(scheme), UNFIXED.scheme].every((each) => isOnly(server, each));
    },
  };
}

function usersOf(lists: readonly ListedResources[]): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>();
  const add = (beginning: string, server: string): void => {
    const known = users.get(beginning) ?? new Set();
    users.set(beginning, known.add(server));
  };
  for (const { server, resources, templates } of lists)
    for (const uri of [...resources.map((each) => each.uri), ...templates.map((each) => each.uriTemplate)]) {
      const { scheme, root, isOpen } = beginningOf(uri);
      add(scheme, server);
      if (isOpen) add(open(scheme), server);
      if (root !== null) add(root, server);
    }
  return users;
}

function open(scheme: string): string {
  return `${scheme}//{`;
}

function beginningOf(template: string): Beginning {
  const [fixed = '', ...rest] = template.split('{', 2);
  const match = FIXED.exec(fixed.toLowerCase());
  if (match === null) return UNFIXED;
  const [, scheme = '', authority = '', end] = match;
  const isOpen = rest.length > 0 && end === undefined;
  if (authority !== '' && !isOpen) return { scheme, root: `${scheme}//${authority}`, isOpen };
  return { scheme, root: COMMON.has(scheme) ? null : scheme, isOpen };
}
