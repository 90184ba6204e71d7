/** `adjutant keys create`, `list`, `revoke`: the API keys of the service.
 *  It must never print a key but the one that was just made. */
import {
  type AccessKey,
  KEY_MARK,
  type Scope,
  SCOPES,
  type SubmittedKey,
} from '../../contract/access/access.ts';
import { ADJUTANT } from '../command-name.ts';
import { lengthOfTime } from '../../contract/length-of-time.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';
import { wholeNumber } from '../options/option-values.ts';
import type { CommandLine, KeyInvocation } from '../invocation.ts';

interface NewKeyOptions {
  /** Default: that of the key that makes it. */
  readonly tenant?: string;
  readonly scopes: readonly string[];
  readonly tools?: string[];
  readonly agents?: string[];
  readonly models?: string[];
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly tokensPerDay?: number;
  /** Millionths of a US dollar. */
  readonly moneyPerDay?: number;
  readonly mcpSearch?: boolean;
  /** A duration such as `30d` or `12h`, or an instant. */
  readonly expires?: string;
}

export function addKeys({ program, withKeys }: CommandLine): void {
  const keys = program.command('keys').description('manage API keys');
  keys
    .command('create <name>')
    .description('make a key and print it, this once; from the first one on every call needs a key')
    .requiredOption(
      '--scopes <scopes...>',
      `what it may do, of ${SCOPES.join(', ')}; separated by spaces or commas`,
    )
    .option('--tenant <name>', 'whose requests it reaches; default: that of the key that makes it')
    .option(
      '--tools <patterns...>',
      'only these tools, as in github.*; no agent and no model that is not named',
    )
    .option(
      '--agents <patterns...>',
      'only these agents, with the tools of their definition; no tool and no model that is not named',
    )
    .option('--models <patterns...>', 'only these models and aliases; no tool and no agent that is not named')
    .option('--per-minute <count>', 'at most so many directives and runs a minute', wholeNumber)
    .option('--per-day <count>', 'at most so many a day, of UTC', wholeNumber)
    .option('--tokens-per-day <count>', 'at most so many tokens of models a day', wholeNumber)
    .option('--money-per-day <millionths>', 'at most so many millionths of a US dollar a day', wholeNumber)
    .option('--mcp-search', '/mcp shows it tools that find and call the others, in place of the list')
    .option('--expires <when>', 'as in 30d, 12h or an instant; default: never')
    .action(async (name: string, given: NewKeyOptions) =>
      withKeys(async (invocation) => createKey(invocation, name, given)),
    );
  keys
    .command('list')
    .description('show what each may do, and when it was last used')
    .action(async () => withKeys(listKeys));
  keys
    .command('revoke <id>')
    .description('within 2 s no API takes it any more')
    .option('--force', 'also the last one with the scope admin: then only ADJUTANT_ADMIN_KEY makes keys')
    .action(async (id: string, given: { force?: boolean }) =>
      withKeys(async (invocation) => revokeKey(invocation, id, given)),
    );
}

/** The key alone goes to stdout, so that a script can keep it. */
export async function createKey(
  { keys, terminal, json }: KeyInvocation,
  name: string,
  { expires, scopes, perMinute, perDay, tokensPerDay, moneyPerDay, mcpSearch, ...allowed }: NewKeyOptions,
  now: number = Date.now(),
): Promise<ExitCode> {
  const expiresAt = expires === undefined ? {} : { expires_at: instantOf(expires, now) };
  const budget = {
    ...(perMinute === undefined ? {} : { per_minute: perMinute }),
    ...(perDay === undefined ? {} : { per_day: perDay }),
    ...(tokensPerDay === undefined ? {} : { tokens_per_day: tokensPerDay }),
    ...(moneyPerDay === undefined ? {} : { money_per_day: moneyPerDay }),
  };
  const body: SubmittedKey = {
    name,
    scopes: scopes
      .flatMap((each) => each.split(','))
      .filter(Boolean)
      .map(scopeOf),
    ...allowed,
    ...budget,
    ...(mcpSearch === true ? { mcp_tools: 'search' as const } : {}),
    ...expiresAt,
  };
  const created = await keys.create(body);
  if (json) {
    terminal.out(JSON.stringify(created));
    return EXIT.done;
  }
  terminal.out(created.key);
  terminal.err(terminal.paintErr('dim', `key ${created.id}; it is shown this once, so keep it now`));
  if (created.created_by === null)
    terminal.err(
      terminal.paintErr('yellow', 'from now on every call needs a key: set ADJUTANT_API_KEY to this one'),
    );
  return EXIT.done;
}

async function listKeys({ keys, terminal, json }: KeyInvocation): Promise<ExitCode> {
  const listing = await keys.list();
  if (json) {
    for (const key of listing.keys) terminal.out(JSON.stringify(key));
    return EXIT.done;
  }
  const head = ['ID', 'NAME', 'TENANT', 'SCOPES', 'LIMITED TO', 'CREATED (UTC)', 'EXPIRES', 'LAST USED'];
  terminal.rows([head, ...listing.keys.map(keyRow)]);
  return EXIT.done;
}

async function revokeKey(
  { keys, terminal, json }: KeyInvocation,
  given: string,
  options: { readonly force?: boolean } = {},
): Promise<ExitCode> {
  const id = idOf(given);
  const revoked = await keys.revoke(id, options).catch((error: unknown) => {
    const isUnknown = error instanceof DirectiveRefused && error.problem.code === 'not_found';
    throw isUnknown ? unknownKey(id, error) : error;
  });
  if (json) terminal.out(JSON.stringify(revoked));
  else terminal.out(`${revoked.id} (${oneLine(revoked.name, 80)}) is revoked: within 2 s no API takes it`);
  return EXIT.done;
}

function unknownKey(id: string, cause: Error): CliFailure {
  const how = `\`${ADJUTANT} keys list\` shows the ids; one that is not there counts nowhere.`;
  return new CliFailure({ what: `There is no key ${oneLine(id, 80)}.`, how }, { cause });
}

const KEY_ID = new RegExp(`^${KEY_MARK}(?<id>[0-9a-f]{12})_`);

/** Id of a key; a whole key, which must not go into a URL, is reduced to its id. */
function idOf(given: string): string {
  return KEY_ID.exec(given)?.groups?.['id'] ?? given;
}

function scopeOf(scope: string): Scope {
  const known = SCOPES.find((each) => each === scope);
  if (known !== undefined) return known;
  throw usage(`There is no scope "${oneLine(scope, 80)}".`, `There are ${SCOPES.join(', ')}.`);
}

const FROM_NOW = /^(?<count>\d{1,6})(?<unit>[mhd])$/;

function instantOf(text: string, now: number): string {
  const ms = lengthOfTime(text, FROM_NOW);
  // A bare number is a year to `Date.parse`.
  const parsed = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  const at = ms === null ? parsed : now + ms;
  if (Number.isFinite(at) && at < LAST_INSTANT) return new Date(at).toISOString();
  throw usage(
    `"${oneLine(text, 80)}" is not a time.`,
    'Write it as in 30d (days), 12h (hours), 90m (minutes) or 2027-01-31T12:00:00Z.',
  );
}

/** Four digits of a year. */
const LAST_INSTANT = Date.UTC(9_999, 0);

function keyRow(key: AccessKey): string[] {
  const limits = (['tools', 'agents', 'models'] as const).flatMap((kind) =>
    key[kind] === undefined ? [] : [`${kind} ${key[kind].join(' ')}`],
  );
  if (key.per_minute !== undefined) limits.push(`${key.per_minute} a minute`);
  if (key.per_day !== undefined) limits.push(`${key.per_day} a day`);
  if (key.tokens_per_day !== undefined) limits.push(`${key.tokens_per_day} tokens a day`);
  if (key.money_per_day !== undefined) limits.push(`${(key.money_per_day / 1_000_000).toFixed(2)} USD a day`);
  return [
    key.id,
    oneLine(key.name, 64),
    oneLine(key.tenant, 32),
    key.scopes.join(' '),
    oneLine(limits.join('; ') || '-', 120),
    instantText(key.created_at, 'minutes'),
    key.expires_at === null ? 'never' : instantText(key.expires_at, 'minutes'),
    key.last_used_at === null ? 'never' : instantText(key.last_used_at, 'minutes'),
  ];
}
