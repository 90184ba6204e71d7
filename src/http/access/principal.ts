// Who calls, and what that caller may do: decisions over a principal and what is asked.
// Must never allow what it does not understand.
import type { Scope } from '../../contract/access/access.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

/** Names in which `*` stands for any characters; null: any name. */
export type Patterns = readonly string[] | null;

/** The first characters of the id of a caller with a token, and of a person who has signed in at an issuer. */
export const TOKEN_MARK = 'jwt:';
export const PERSON_MARK = 'oidc:';

export interface Principal {
  /** Of its key. Shown to operators. */
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<string>;
  readonly tools: Patterns;
  readonly agents: Patterns;
  readonly models: Patterns;
  /** What may be submitted in a minute, and in a day; null: no limit. */
  readonly perMinute: number | null;
  readonly perDay: number | null;
  /** What models may take in a day, of what is submitted with it; null: no budget of its own. Money in millionths of a dollar. */
  readonly tokensPerDay: number | null;
  readonly moneyPerDay: number | null;
}

/** Of a caller that no key limits. */
export const UNLIMITED = {
  tools: null,
  agents: null,
  models: null,
  perMinute: null,
  perDay: null,
  tokensPerDay: null,
  moneyPerDay: null,
};

/** What the caller brought, in sentences. */
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
