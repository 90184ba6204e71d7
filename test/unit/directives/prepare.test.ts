/** What is read before directives are routed, and what is read again.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import { type Directive, parseSubmission } from '../../../src/contract/directive/directive.ts';
import type { ModelTable } from '../../../src/contract/model/model-name.ts';
import { decodeEnvelope } from '../../../src/store/request/envelope.ts';
import { NO_FLOW } from '../../../src/contract/directive/flow.ts';
import { ticketIn } from '../../../src/queue/flow/ticket.ts';
import { NO_MODELS } from '../../../src/store/catalog/known-models.ts';
import { createPreparer } from '../../../src/directives/prepare.ts';
import type { Recent } from '../../../src/store/catalog/recent.ts';
import type { KnownServers } from '../../../src/store/catalog/route.ts';

const models: ModelTable = { aliases: new Map(), providers: new Map([['cloud', { type: 'openai' }]]) };
const servers: KnownServers = new Map([['files', ['read']]]);

/** Knows `before`, and after another read `after`; records the calls. */
function source<T>(name: string, before: T, after: T, asked: string[]): Recent<T> {
  const answer = (what: string, value: T) => async (): Promise<T> => {
    asked.push(`${name} ${what}`);
    return value;
  };
  return { current: answer('current', before), recheck: answer('recheck', after) };
}

function directive(fields: object): Directive {
  const parsed = parseSubmission({ id: 'a', request_id: 'r', ...fields });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.directives[0] as Directive;
}

const ask = directive({ type: 'llm_generate', model: 'cloud:m', context: [] });
const call = directive({ type: 'tool_exec', tool_name: 'read' });

async function prepared(directives: Directive[], before: { models: ModelTable; servers: KnownServers }) {
  const asked: string[] = [];
  const catalog = {
    models: source('models', before.models, models, asked),
    servers: source('servers', before.servers, servers, asked),
  };
  const { prepare } = createPreparer(catalog, () => null);
  const made = await prepare(directives, '00-00000000000000000000000000000001-0000000000000001-01');
  return { asked, envelopes: made.map(({ acceptance }) => decodeEnvelope(acceptance.envelope)) };
}

test('reads only what the directives need', async () => {
  expect((await prepared([ask], { models, servers })).asked).toEqual(['models current']);
  expect((await prepared([call], { models, servers })).asked).toEqual(['servers current']);
});

test('reads again after a failed lookup, and then finds it', async () => {
  const nothing = { models: NO_MODELS, servers: new Map() };
  const { asked, envelopes } = await prepared([ask, call], nothing);
  expect(asked.filter((read) => read.endsWith('recheck'))).toEqual(['servers recheck', 'models recheck']);
  expect(envelopes).toMatchObject([{ lane: 'llm.cloud', models: ['cloud:m'] }, { lane: 'tool.files' }]);
  expect(envelopes[1]).not.toHaveProperty('models');
});

test('what a budget may go on with is under the rules of its own lane', async () => {
  const aliases = new Map([['small', ['tiny:t', 'cloud:s']]]);
  const known = { models: { ...models, aliases }, servers };
  const rule = { tenant: null, type: null, lane: 'llm.tiny', tool: null, tag: null };
  const flow = {
    ...NO_FLOW,
    rules: [{ name: 'r', match: rule, concurrency: { by: [], limit: 1 }, rate: null, priority: null }],
  };
  const catalog = {
    models: source('m', known.models, models, []),
    servers: source('s', servers, servers, []),
  };
  const { prepare } = createPreparer(catalog, () => null, {
    flow: () => flow,
    cheaper: ['small', 'other:o'],
  });
  const [made] = await prepare([ask], '00-00000000000000000000000000000001-0000000000000001-01');
  const envelope = decodeEnvelope(made?.acceptance.envelope ?? '');
  expect([envelope.lane, ticketIn(envelope, 'llm.cloud')]).toEqual(['llm.cloud', null]);
  expect(ticketIn(envelope, 'llm.tiny')?.limits).toMatchObject([{ concurrency: 1 }]);
});
