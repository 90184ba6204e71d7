/** `adjutant policy`: records decided calls, replays them against changed rules, and explains a decision.
 *  It adds and removes rules of a tenant, too. It must never make a call, nor change a counter. */
import { existsSync } from 'node:fs';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { RuntimePolicy } from '../../contract/policy/runtime-policy.ts';
import { createHttpClient } from '../../client/http-client.ts';
import { ADJUTANT } from '../command-name.ts';
import { addDefinitionVerbs, CHANGE_HEAD, changeRow } from '../definitions.ts';
import { examples } from '../examples.ts';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import { counted } from '../following/run-lines.ts';
import type { CommandLine, LocalInvocation } from '../invocation.ts';
import { pastInstantOption } from '../options/option-values.ts';
import { startFault } from '../start-fault.ts';
import { oneLine, plainJson } from '../terminal.ts';

type Replay = typeof import('../../features/policy/replay.ts');
type RecordedCall = import('../../features/policy/replay.ts').RecordedCall;
type ReplayedCall = import('../../features/policy/replay.ts').ReplayedCall;

interface RuleOptions {
  readonly config?: string;
  readonly tenantPolicies?: true;
}

interface TestOptions extends RuleOptions {
  readonly all?: true;
}

interface ExplainOptions extends RuleOptions {
  readonly file?: string;
}

interface RecordOptions {
  readonly since?: string;
  readonly tenant: string;
}

/** Counters add up calls, so one call alone does not give their values. */
const COUNTERS_NEED_FILE = `Counters need the calls before this one: \`${ADJUTANT} policy record --since 1d > calls.jsonl\`, then --file calls.jsonl.`;

const CONFIG = 'the configuration with the rules; default: adjutant.json here';
const TENANT_POLICIES =
  "apply the policies that the calls' tenants have added at runtime too, as the service has them now (admin)";

export function addPolicy({ program, local, withClient }: CommandLine): void {
  const policy = program
    .command('policy')
    .description('test the rules about calls, explain decisions, add and remove those of your tenant');
  const test = policy
    .command('test <file>')
    .description('replay recorded calls against the rules of the configuration; exit 1: a decision differs')
    .option('--config <file>', CONFIG)
    .option('--tenant-policies', TENANT_POLICIES)
    .option('--all', 'print every call; default: those that differ')
    .action(async (file: string, given: TestOptions) =>
      local(async (place) => testRules(place, file, given)),
    );
  examples(test, ['policy record --since 1d > calls.jsonl', 'policy test calls.jsonl --config new.json']);
  policy
    .command('explain <call>')
    .description('print which rule decided about <request>/<directive>, and the values that it read')
    .option('--config <file>', CONFIG)
    .option('--tenant-policies', TENANT_POLICIES)
    .option('--file <file>', 'replay the calls of this file, which gives the values of counters')
    .action(async (name: string, given: ExplainOptions) =>
      local(async (place) => explain(place, callName(name), given)),
    );
  policy
    .command('record')
    .description('print the calls of requests as lines of JSON, with their decisions')
    .option(
      '--since <when>',
      'of requests created since then: 2h, 1d, yesterday, or an instant; default: 1d',
      (text) => pastInstantOption(text),
    )
    .option('--tenant <name>', 'the tenant of the key, whose rules decide', 'default')
    .action(async (given: RecordOptions) => local(async (place) => record(place, given)));
  addDefinitionVerbs<RuntimePolicy>(policy, withClient, {
    noun: 'a policy',
    plural: 'policies',
    section: 'policy',
    removal: 'workers follow within a second',
    put: async (client, name, { definition, ...version }, options) =>
      client.policies.put(name, { policy: definition, ...version }, options),
    remove: async (client, name, query, options) => client.policies.remove(name, query, options),
    list: async (client, options) => (await client.policies.list(options)).policies,
    head: HEAD,
    row,
  });
}

const HEAD = ['NAME', 'VERSION', 'RULES', ...CHANGE_HEAD];

function row(policy: RuntimePolicy): string[] {
  const { rules } = policy.policy;
  return [policy.name, policy.version, String(Array.isArray(rules) ? rules.length : 0), ...changeRow(policy)];
}

async function testRules(place: LocalInvocation, file: string, options: TestOptions): Promise<ExitCode> {
  const { terminal, json } = place;
  const replayed = await replayAll(await replay(), readFile(await replay(), file), options, place);
  const differing = replayed.filter(({ differs }) => differs);
  const shown = options.all === true ? replayed : differing;
  if (json) for (const each of shown) terminal.out(plainJson(jsonOf(each)));
  else if (shown.length > 0)
    terminal.rows([['CALL', 'TOOL', 'RECORDED', 'NEW', 'RULE'], ...shown.map(rowOf)]);
  terminal.err(`${counted(replayed.length, 'call')}, ${differing.length} decided differently`);
  return differing.length === 0 ? EXIT.done : EXIT.failed;
}

function rowOf({ call, ruling: { decision, rule, failed } }: ReplayedCall): string[] {
  const name = rule ?? 'default';
  const by = failed === undefined ? name : `${name} (failed: ${failed})`;
  const told = [nameOf(call), subjectOf(call), call.decision, decision, by];
  return told.map((text) => oneLine(text));
}

function jsonOf({ call, ruling, differs }: ReplayedCall): object {
  const { decision, rule, failed } = ruling;
  return {
    call: nameOf(call),
    tool: subjectOf(call),
    recorded: call.decision,
    recorded_rule: call.rule,
    decision,
    rule,
    ...(failed === undefined ? {} : { failed }),
    differs,
  };
}

function nameOf({ request_id: requestId, id }: Pick<RecordedCall, 'request_id' | 'id'>): string {
  return `${requestId}/${id}`;
}

function subjectOf({ directive }: RecordedCall): string {
  const { type, tool_name: tool, model, model_alias: alias } = directive as Record<string, unknown>;
  return String(tool ?? model ?? alias ?? type);
}

/** Counters have values only in a replay of all calls before it. */
async function explain(place: LocalInvocation, name: Name, options: ExplainOptions): Promise<ExitCode> {
  const { file } = options;
  const calls = file === undefined ? await recorded(place, name) : readFile(await replay(), file);
  const [own] = calls.filter((call) => call.request_id === name.requestId && call.id === name.id);
  if (own === undefined) throw new CliFailure(absent(name, file));
  const replayed = await replayAll(await replay(), calls, options, place);
  const found = replayed.find(({ call }) => call === own);
  if (found === undefined) throw new Error('a call was lost by its replay');
  const isKnown = (path: string): boolean => file !== undefined || !path.startsWith('counters.');
  const read = found.read.map(([path, value]) => [
    path,
    isKnown(path) ? shown(value) : 'unknown: give --file',
  ]);
  const { terminal, json } = place;
  if (found.read.some(([path]) => !isKnown(path))) terminal.err(COUNTERS_NEED_FILE);
  if (json) {
    terminal.out(
      plainJson({ ...jsonOf(found), reason: found.ruling.reason, read: Object.fromEntries(read) }),
    );
    return EXIT.done;
  }
  const { decision, rule, reason, failed } = found.ruling;
  terminal.rows([
    ['recorded', own.decision, own.rule === null ? 'default' : oneLine(`rule ${own.rule}`)],
    [
      file === undefined ? 'now, by its request alone' : 'now',
      decision,
      rule === null ? 'default' : `rule ${rule}`,
    ],
    ...(reason === null ? [] : [['reason', oneLine(reason), '']]),
    ...(failed === undefined ? [] : [['failed', oneLine(failed), '']]),
    ...read.map(([path = '', value = '']) => ['read', oneLine(path), value]),
  ]);
  return EXIT.done;
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const json = (_name: string, member: unknown): unknown =>
    member instanceof Map ? Object.fromEntries(member as Map<string, unknown>) : member;
  return oneLine(JSON.stringify(value, json), 400);
}

interface Name {
  readonly requestId: string;
  readonly id: string;
}

function callName(text: string): Name {
  const at = text.indexOf('/');
  if (at < 1 || at === text.length - 1)
    throw usage(`"${oneLine(text, 80)}" names no call.`, 'Give <request>/<directive>.');
  return { requestId: text.slice(0, at), id: text.slice(at + 1) };
}

function absent({ requestId, id }: Name, file: string | undefined): { what: string; how: string } {
  const where = file === undefined ? 'The service' : oneLine(file, 80);
  return {
    what: `${where} has no decided call ${oneLine(`${requestId}/${id}`, 200)}.`,
    how: `\`${ADJUTANT} get ${oneLine(requestId, 128)}\` lists the directives of a request; those that no worker has claimed are not decided.`,
  };
}

async function recorded(place: LocalInvocation, { requestId }: Name): Promise<RecordedCall[]> {
  const { recordCalls } = await replay();
  return withService(place, async (client) => {
    const calls: RecordedCall[] = [];
    for await (const call of recordCalls(client, requestId, 'default')) calls.push(call);
    return calls;
  });
}

async function record(
  place: LocalInvocation,
  { since = pastInstantOption('1d'), tenant }: RecordOptions,
): Promise<ExitCode> {
  const { recordCalls } = await replay();
  await withService(place, async (client) => {
    let cursor: string | null | undefined;
    while (cursor !== null && !place.interrupt.aborted) {
      const page = await client.requests({ since, limit: 200, ...(cursor === undefined ? {} : { cursor }) });
      for (const { request_id: requestId } of page.requests)
        for await (const call of recordCalls(client, requestId, tenant)) place.terminal.out(plainJson(call));
      cursor = page.next;
    }
  });
  return EXIT.done;
}

/** Without the keys of encryption: rules read what the worker read, and a record holds no secret in clear text. */
async function withService<T>(
  place: LocalInvocation,
  work: (client: DirectiveClient) => Promise<T>,
): Promise<T> {
  const { url, apiKey } = await place.service();
  const client = createHttpClient({ baseUrl: url, ...(apiKey === undefined ? {} : { apiKey }) });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const replay = async (): Promise<Replay> => import('../../features/policy/replay.ts');

function readFile({ readCalls, CallFileFault }: Replay, file: string): RecordedCall[] {
  const how = `\`${ADJUTANT} policy record --since 1d > calls.jsonl\` writes one.`;
  if (!existsSync(file)) throw usage(`There is no file ${oneLine(file, 200)}.`, how);
  try {
    return readCalls(file);
  } catch (error) {
    if (!(error instanceof CallFileFault)) throw error;
    throw new CliFailure({ what: `${oneLine(error.message, 400)}.`, how });
  }
}

async function replayAll(
  { replayCalls }: Replay,
  calls: readonly RecordedCall[],
  { config: file, tenantPolicies }: RuleOptions,
  place: LocalInvocation,
): Promise<ReplayedCall[]> {
  const [{ loadConfig }, { policySettings, tenantPolicy }] = await Promise.all([
    import('../../config/config.ts'),
    import('../../config/policy.ts'),
  ]);
  let config: ReturnType<typeof loadConfig>;
  try {
    config = loadConfig(file, place.environment);
  } catch (error) {
    throw startFault(error);
  }
  if (tenantPolicies !== true && calls.some(({ rule }) => rule?.includes('/') === true))
    place.terminal.err(
      'Rules of a tenant decided about some of the calls, as <policy>/<rule>: give --tenant-policies.',
    );
  const operators = policySettings(config.policy) ?? { rules: [], counters: [], default: 'allow' };
  const names = tenantPolicies === true ? [...new Set(calls.map(({ tenant }) => tenant))] : [];
  const tenants = new Map<string, { name: string; settings: typeof operators | null }[]>();
  if (names.length > 0)
    await withService(place, async (client) => {
      for (const tenant of names) {
        const { policies } = await client.policies.list({ tenant });
        const read = policies.map(({ name, policy }) => ({ name, read: tenantPolicy(policy) }));
        tenants.set(
          tenant,
          read.map(({ name, read: each }) => ({ name, settings: each.ok ? each.settings : null })),
        );
      }
    });
  return replayCalls(calls, { operators, tenants, aliases: config.models }, place.interrupt);
}
