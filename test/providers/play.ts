/** Plays the cells of the matrix: one scripted provider for all, single directives without a queue, runs in a whole service.
 *  It must never reach a provider that it did not start, nor count a cell as right that has not been played. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import type { Result } from '../../src/contract/result.ts';
import { startScriptedTools } from '../../src/testing/scripted-tools.ts';
import { type Api, call, KEY, providersAt } from '../support/model-calls.ts';
import { startRedis } from '../support/redis.ts';
import { startService } from '../support/running-service.ts';
import {
  AGENTS,
  type CallRow,
  type Cell,
  NEXT_ANSWER,
  type Reply,
  type Row,
  type RunRow,
  type Seen,
  type ServiceRow,
  TOOLS,
} from './row.ts';
import { type Mode, WIRES, written } from './wires.ts';

export type Outcome = 'right' | { readonly wrong: string };

export interface Theatre extends AsyncDisposable {
  /** Never rejects. */
  play(row: Row, cell: Cell): Promise<Outcome>;
}

const NEXT_MODEL = 'next';
const WAIT_MS = 60_000;

/** The name of the model of a row: it tells the provider which row is played. */
const modelOf = ({ kind, model }: Row): string => model ?? kind.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

export function cellsOf({ wires = WIRES, modes = ['streamed', 'whole'] }: Row): Cell[] {
  return wires.flatMap((wire) => modes.map((mode) => ({ wire, mode })));
}

export async function openTheatre(rows: readonly Row[]): Promise<Theatre> {
  await using open = new AsyncDisposableStack();
  const provider = open.use(await startScriptedProvider(rows));
  const needsService = rows.some(({ through }) => through !== 'call');
  const client = needsService ? await startWholeService(provider.url, rows, open) : null;
  const closing = open.move();

  async function played(row: Row, cell: Cell): Promise<void> {
    const seen = (): readonly Seen[] => provider.seen(row, cell);
    if (row.through === 'call') return playCall(row, cell, provider.url, seen);
    if (client === null) throw new Error('no service was started');
    return row.through === 'run' ? playRun(row, cell, client, seen) : playInService(row, cell, client, seen);
  }

  return {
    play: (row, cell) =>
      played(row, cell).then(
        () => 'right',
        (error: unknown) => ({ wrong: error instanceof Error ? error.message : String(error) }),
      ),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

export interface Played {
  readonly row: Row;
  readonly cell: Cell;
  readonly outcome: Outcome;
}

const AT_ONCE = 24;

export async function playAll(
  theatre: Theatre,
  cells: readonly Omit<Played, 'outcome'>[],
): Promise<readonly Played[]> {
  const waiting = [...cells];
  const played: Played[] = [];
  const playNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      played.push({ ...next, outcome: await theatre.play(next.row, next.cell) });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, playNext));
  return played;
}

async function playCall(row: CallRow, cell: Cell, url: string, seen: () => readonly Seen[]): Promise<void> {
  const model = `p:${modelOf(row)}`;
  const type = cell.mode === 'streamed' ? 'llm_stream' : 'llm_generate';
  const providers = providersAt(`${url}/${cell.wire}`, cell.wire, row.settings);
  const tools = { 't.purge': { name: 't.purge', input_schema: { type: 'object', properties: {} } } };
  const fields = { type, model, timeout_ms: 20_000, ...row.asks } as Parameters<typeof call>[0];
  const result = await call(fields, { providers, tools, context: { models: [model] } });
  row.expects(result, seen(), cell);
}

async function playRun(
  row: RunRow,
  cell: Cell,
  client: DirectiveClient,
  seen: () => readonly Seen[],
): Promise<void> {
  const { agent = 'plain', query = 'x' } = row;
  const model = `${cell.wire}:${modelOf(row)}`;
  const overrides = { model, stream: cell.mode === 'streamed' };
  const { request_id } = await client.runs.start({ agent, query, overrides });
  for await (const _signal of client.signals(request_id, { signal: AbortSignal.timeout(WAIT_MS) })) {
    // The log ends with the run.
  }
  const run = (await client.request(request_id))?.run;
  if (!run) throw new Error('the run is gone');
  if (run.ended_at === null) throw new Error(`the run has not ended within ${WAIT_MS} ms`);
  row.expects(run, seen(), cell);
}

async function playInService(
  row: ServiceRow,
  cell: Cell,
  client: DirectiveClient,
  seen: () => readonly Seen[],
): Promise<void> {
  const type = cell.mode === 'streamed' ? 'llm_stream' : 'llm_generate';
  const model = `${cell.wire}:${modelOf(row)}`;
  const asked = row.chained === true ? { model_alias: aliasOf(row, cell.wire) } : { model };
  const context = [{ role: 'user', content: 'x' }];
  const directive = { type, ...asked, context, ...row.asks } as SubmittedDirective;
  const { data } = await client.execute(directive, { timeoutMs: WAIT_MS });
  row.expects((data as { result: Result }).result, seen(), cell);
}

const aliasOf = (row: Row, wire: Api): string => `${modelOf(row)}-${wire}`;

/** Redis, the tools, and a service with one provider for each wire; all of it is closed with `open`. */
async function startWholeService(
  url: string,
  rows: readonly Row[],
  open: AsyncDisposableStack,
): Promise<DirectiveClient> {
  const redis = open.use(await startRedis());
  const tools = open.adopt(await startScriptedTools(TOOLS), async (started) => started.close());
  const providers = Object.fromEntries(WIRES.map((wire) => [wire, providerAt(url, wire)]));
  const chained = rows.filter((row) => row.through === 'service' && row.chained === true);
  const models = Object.fromEntries(
    chained.flatMap((row) =>
      WIRES.map((wire) => [aliasOf(row, wire), [`${wire}:${modelOf(row)}`, `compatible:${NEXT_MODEL}`]]),
    ),
  );
  const agents = Object.fromEntries(
    Object.entries(AGENTS).map(([name, agent]) => [
      name,
      { tools: ['t.*'], model: 'compatible:next', ...agent },
    ]),
  );
  const keys = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: KEY };
  const config = { mcpServers: tools.mcpServers, providers, models, agents };
  const service = open.use(await startService({ redisUrl: redis.url, environment: keys, config }));
  return open.adopt(createHttpClient({ baseUrl: service.url }), async (client) => client.close());
}

function providerAt(url: string, wire: Api): object {
  const base_url = `${url}/${wire}/${wire === 'google' ? 'v1beta' : 'v1'}`;
  if (wire === 'compatible') return { type: 'openai-compatible', base_url };
  return wire === 'openai-chat' ? { type: 'openai', api: 'chat', base_url } : { type: wire, base_url };
}

interface ScriptedProvider extends AsyncDisposable {
  readonly url: string;
  seen(row: Row, cell: Cell): readonly Seen[];
}

/** Answers `/<wire>/…` as the row says whose model is asked. */
async function startScriptedProvider(rows: readonly Row[]): Promise<ScriptedProvider> {
  const byModel = new Map(rows.map((row) => [modelOf(row), row]));
  const seen = new Map<string, Seen[]>();
  const listOf = (row: Row, { wire, mode }: Cell): Seen[] => {
    const key = `${modelOf(row)} ${wire} ${mode}`;
    const list = seen.get(key) ?? [];
    seen.set(key, list);
    return list;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(request);
    const body = JSON.parse(text) as Record<string, unknown>;
    const [, wire, , path = ''] = /^\/([^/]+)\/(v1beta|v1)(\/.*)$/.exec(request.url ?? '') ?? [];
    const inUrl = /\/models\/([^:]+):(\w+)/.exec(path);
    const model = inUrl?.[1] ?? String(body['model']);
    const mode: Mode =
      body['stream'] === true || inUrl?.[2] === 'streamGenerateContent' ? 'streamed' : 'whole';
    const cell: Cell = { wire: wire as Api, mode };
    const row = byModel.get(model);
    if (model === NEXT_MODEL) return reply(cell, { parts: [{ text: NEXT_ANSWER }] }, response);
    if (row === undefined) return void response.writeHead(404).end();
    const list = listOf(row, cell);
    list.push({ text, body });
    return reply(cell, row.says(cell, list.length - 1, { text, body }), response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: listOf,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function reply({ wire, mode }: Cell, answer: Reply, response: ServerResponse): Promise<void> {
  const answers = typeof answer === 'function' ? answer : written(wire, mode, answer);
  await answers(response);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
