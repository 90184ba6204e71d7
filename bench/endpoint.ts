/** `npm run bench -- --only endpoint`: the time that the model endpoint adds to a provider's stream, beside that of LiteLLM's proxy.
 *  It must not run two of them at once. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../src/cli/table.ts';
import { type Child, freePort, spawnProcess } from '../test/support/process.ts';
import { pythonOfTests } from '../test/support/python.ts';
import type { TestRedis } from '../test/support/redis.ts';
import type { Section } from './sections.ts';
import {
  measured,
  readStreams,
  type Row,
  startPacedProvider,
  startReader,
  startRole,
  type StreamPlan,
  WARM_UP,
  writeConfig,
} from './streams.ts';

const LITELLM = 'litellm[proxy]==1.108.7';
/** Its program reads for some ten seconds before it listens, and for minutes on a busy machine. */
const START_MS = 300_000;
const AGAIN_MS = 200;

export async function benchEndpoint(redis: TestRedis, plan: StreamPlan): Promise<Section> {
  const { provider, providerUrl } = await startPacedProvider(plan);
  const config = await writeConfig(plan, providerUrl);
  const [worker, api] = await Promise.all([
    startRole(redis, 'worker', config),
    startRole(redis, 'api', config),
  ]);
  const apiUrl = /http:[\d.:/]+/.exec(api.lines.join('\n'))?.[0] ?? '';
  const litellm = await startLiteLlm(providerUrl).catch((error: unknown) => String(error));
  const own = { redis: redis.pid, worker: worker.pid, api: api.pid };
  const sources = [
    { name: 'provider itself', url: providerUrl, parts: {} },
    { name: 'model endpoint', url: `${apiUrl}/openai`, parts: own },
    ...(typeof litellm === 'string'
      ? []
      : [{ name: "LiteLLM's proxy", url: litellm.url, parts: { proxy: litellm.child.pid } }]),
  ].map((source) => ({ ...source, reader: startReader('provider', source.url) }));
  try {
    for (const { reader } of sources) await readStreams(reader, WARM_UP);
    const rows: Row[] = [];
    for (const { name, parts, reader } of sources) rows.push(await measured(name, parts, plan, reader));
    const missing = typeof litellm === 'string' ? `\nLiteLLM's proxy is not measured: ${litellm}` : '';
    return { text: report(plan, rows) + missing, figures: {} };
  } finally {
    for (const { reader } of sources) if (reader.connected) reader.disconnect();
    const children = [worker, api, provider, ...(typeof litellm === 'string' ? [] : [litellm.child])];
    await Promise.all(children.map(async (child) => child.stop()));
  }
}

/** A text: why it does not run here. */
async function startLiteLlm(providerUrl: string): Promise<{ child: Child; url: string } | string> {
  const python = await pythonOfTests([LITELLM]);
  if (python === null) return 'there is no Python.';
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-bench-')), 'litellm.yaml');
  const params = { model: 'openai/m', api_base: `${providerUrl}/v1`, api_key: 'any' };
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ model_list: [{ model_name: 'm', litellm_params: params }] }));
  const port = await freePort();
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const child = spawnProcess(join(dirname(python), 'litellm'), ['--config', file, ...address], {
    env: {
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_TELEMETRY: 'False',
      // The service asks for no key, either.
      LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
    },
  });
  let hasEnded = false;
  void child.exited.then(() => (hasEnded = true));
  const url = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + START_MS; !hasEnded && Date.now() < until; await delay(AGAIN_MS)) {
    const answer = await fetch(`${url}/health/liveliness`).catch(() => null);
    if (answer?.ok === true) return { child, url };
  }
  await child.kill9();
  return `it ${hasEnded ? 'has ended' : 'does not answer'}:\n${child.lines.slice(-10).join('\n')}`;
}

const COLUMNS = [
  '',
  'first p50 ms',
  'added ms',
  'of the provider',
  'chunk p50 ms',
  'added ms',
  'of the provider',
  'CPU: % of a core (µs per piece)',
] as const;

function report({ streams, pieces, paceMs }: StreamPlan, rows: readonly Row[]): string {
  const [alone] = rows;
  const figures = (ms: number, ofAlone: number): string[] => [
    ms.toFixed(2),
    (ms - ofAlone).toFixed(2),
    `${(ms / ofAlone).toFixed(1)} ×`,
  ];
  const lines = rows.map(({ source, first, delays, costs }) => [
    source,
    ...figures(first.p50Ms, alone?.first.p50Ms ?? 0),
    ...figures(delays.p50Ms, alone?.delays.p50Ms ?? 0),
    costs,
  ]);
  return `\n${streams} answers at once of ${pieces} pieces, one every ${paceMs} ms\n${table([COLUMNS, ...lines]).join('\n')}`;
}
