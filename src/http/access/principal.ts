// Who calls, and what that caller may do: decisions over a principal and what is asked.
// Must never allow what it does not understand.
import type { Scope } from '../../contract/access/access.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

/** Names in which `*` matches any characters; null: any name. */
export type Patterns = readonly string[] | null;

/** The first characters of the id of a caller with a token, and of a person who has signed in at an issuer. */
export const TOKEN_MARK = 'jwt:';
export const PERSON_MARK = 'oidc:';

export interface Principal {
  /** The id of its key. Shown to operators. */
  readonly id: string;
  readonly name: string;
  /** The issuer that vouches for it. Absent: it has a key. */
  readonly issuer?: string;
  readonly tenant: string;
  /** Tenant of its key, where it changes what `tenant` has. Default: `tenant`. */
  readonly home?: string;
  readonly scopes: ReadonlySet<string>;
  readonly tools: Patterns;
  readonly agents: Patterns;
  readonly models: Patterns;
  /** Whether `/mcp` shows it tools that search in place of the list. Default: the list. */
  readonly prefersSearch?: boolean;
  /** Limits of submissions in a minute, and in a day; null: no limit. */
  readonly perMinute: number | null;
  readonly perDay: number | null;
  /**
   * Limits of the models' use in a day, for its submissions; null: no budget of its own. Money in millionths of a
   * dollar.
   */
  readonly tokensPerDay: number | null;
  readonly moneyPerDay: number | null;
}

/** The limits of a caller without a limited key. */
export const UNLIMITED = {
  tools: null,
  agents: null,
  models: null,
  perMinute: null,
  perDay: null,
  tokensPerDay: null,
  moneyPerDay: null,
};

/** The caller's credentials, in sentences. */
export function callerText({ id, name }: Principal): string {
  const sort = id.startsWith(TOKEN_MARK) ? 'token of' : id.startsWith(PERSON_MARK) ? 'login of' : 'key';
  return `${sort} "${name}"`;
}

export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope);
}

export function allows(patterns: Patterns, name: string): boolean {
  return patterns === null || patterns.some((pattern) => toolMatches(pattern, name));
}

/** Whether it may use only some tools, agents or models. */
export function isRestricted({ tools, agents, models }: Principal): boolean {
  return tools !== null || agents !== null || models !== null;
}
