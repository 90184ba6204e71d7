/** Requests whose traces a test knows: the processes that serve them, and the tree that each request must have.
 *  It must not look at spans: the test asks its collector, or Jaeger. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { existsSync, readFileSync, watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScheduleView } from '../../src/contract/schedule/schedule.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { newTraceparent, traceIdOf } from '../../src/platform/telemetry/traces/trace-context.ts';
import { type AdjutantProcess, install } from './installation.ts';
import { ownServerEntry, startTraced } from './mcp-servers.ts';
import { follow, get, post, untilClosed, untilEnded } from './public-api.ts';
import { startNotingProvider } from './noting-provider.ts';

export interface Scene {
  readonly requestId: string;
  readonly traceId: string;
}

const LOOK_EVERY_MS = 50;
const CALLS = 'calls.jsonl';

/** The turns of the model, by the question. */
const TURNS = [
  {
    when: { user: 'both', tool_results: false },
    tool_calls: [
      { name: 'traced.look', arguments: { label: 'left' } },
      { name: 'traced.look', arguments: { label: 'right' } },
    ],
  },
  {
    when: { user: 'hand over', tool_results: false },
    tool_calls: [{ name: 'guide.hand_over', arguments: { target: 'helper', task: 'help' } }],
  },
  {
    when: { user: 'ask me', tool_results: false },
    tool_calls: [{ name: 'traced.look', arguments: { label: 'allowed' } }],
  },
  { text: 'done' },
];

const AGENTS = {
  lead: { model_alias: 'fast', tools: ['traced.*', 'guide.*'] },
  helper: { model_alias: 'fast' },
  steady: {
    model_alias: 'planned',
    tools: ['traced.look', 'remote.look'],
    model_call: { max_retries: 0 },
    tool_call: { max_retries: 1 },
  },
  careful: { model_alias: 'fast', tools: ['traced.*'], policies: { approvals: { '*': 'ask' } } },
};

export const look = (label: string, more: object = {}) => ({
  type: 'tool_exec' as const,
  tool_name: 'traced.look',
  arguments: { label, ...more },
});

export interface SceneOptions {
  /** Whether the processes report, or only the MCP servers do. */
  readonly isRecorded?: boolean;
  /** Resolves when so many spans of this name have arrived at the endpoint: what a worker has not sent dies with it. */
  readonly untilArrived?: (traceId: string, name: string, count: number) => Promise<void>;
}

interface SceneSettings {
  readonly endpoint: string;
  readonly isRecorded: boolean;
  readonly folder: string;
  readonly providerUrl: string;
}

async function configured({ endpoint, isRecorded, folder, providerUrl }: SceneSettings) {
  const script = join(folder, 'turns.json');
  await writeFile(script, JSON.stringify({ turns: TURNS }));
  const env = { COUNTER_FILE: join(folder, CALLS), TRACES_URL: `${endpoint}/v1/traces` };
  const traced = ownServerEntry('traced.ts', env);
  const remote = await startTraced(env);
  const config = {
    mcpServers: {
      asking: { ...ownServerEntry('asking-peer.ts'), questions: true, sampling: { model: 'fast' } },
      traced,
      guide: { ...traced, directives: 'all' },
      remote: { url: `${remote.origin}/mcp` },
    },
    providers: {
      first: { type: 'openai-compatible', base_url: providerUrl },
      second: { type: 'openai-compatible', base_url: providerUrl },
      script: { type: 'scripted', file: script, pace: 10_000 },
    },
    models: {
      fast: ['script:m'],
      chain: ['first:busy', 'second:free'],
      planned: ['first:busy', 'second:planner'],
    },
    agents: AGENTS,
    worker: { lease_ms: 2_000, drain_ms: 1_000 },
    telemetry: { ...(isRecorded ? { endpoint } : {}), trace_url: 'http://jaeger.example/trace/{trace_id}' },
  };
  return { config, remote };
}

export type Scenes = Awaited<ReturnType<typeof openScenes>>;

/** Api, engine and worker as processes of their own, which report to `endpoint`. */
export async function openScenes(endpoint: string, options: SceneOptions = {}) {
  const { isRecorded = true, untilArrived = async () => {} } = options;
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-traces-'));
  const provider = await startNotingProvider();
  const { config, remote } = await configured({ endpoint, isRecorded, folder, providerUrl: provider.url });
  const installation = await install({ config });
  const [api, engine, first] = await Promise.all([
    installation.start('api'),
    installation.start('engine'),
    installation.start('worker'),
  ]);
  const { url } = api;
  let worker = first;

  async function sceneOf(requestId: string): Promise<Scene> {
    const { body } = await get<{ trace_id: string }>(`${url}/v1/requests/${requestId}`);
    return { requestId, traceId: body.trace_id };
  }

  async function submit(directive: object): Promise<string> {
    const { status, body } = await post<{ request_id: string }>(`${url}/v1/directives`, directive);
    if (status !== 202) throw new Error(JSON.stringify(body));
    return body.request_id;
  }

  /** The directive ends by itself. */
  async function directive(body: object): Promise<Scene> {
    const requestId = await submit(body);
    await untilClosed(url, requestId);
    return sceneOf(requestId);
  }

  /** The trace is that of the submission, which nobody has begun: what stands for it is of another. */
  async function repeated(body: object, path = '/v1/directives'): Promise<Scene> {
    const traceparent = newTraceparent();
    const headers = { 'content-type': 'application/json', traceparent };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const { request_id: requestId } = (await response.json()) as { request_id: string };
    return { requestId, traceId: traceIdOf(traceparent) };
  }

  async function repeatedRun(body: object): Promise<Scene> {
    const { body: first } = await post<{ request_id: string }>(`${url}/v1/requests`, body);
    await untilClosed(url, first.request_id);
    return repeated(body, '/v1/requests');
  }

  async function cancelled(body: object, afterSignal: string): Promise<Scene> {
    const requestId = await submit(body);
    await untilSignal(url, requestId, afterSignal);
    await post(`${url}/v1/requests/${requestId}/cancel`, {});
    await untilClosed(url, requestId);
    return sceneOf(requestId);
  }

  /** Its tool asks, and somebody answers. */
  async function answered(body: object, content: object): Promise<Scene> {
    const requestId = await submit(body);
    for await (const { type, data } of follow(url, requestId))
      if (type === 'ai.tool.input_requested')
        await post(`${url}/v1/requests/${requestId}/inputs/${data.input_id}`, {
          action: 'accept',
          content,
          by: 'Ada',
        });
    return sceneOf(requestId);
  }

  /** By a schedule, at its only instant. */
  async function fired(body: object): Promise<Scene> {
    const ends_at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000).toISOString();
    const schedule = {
      id: 'each-second',
      cron: '* * * * * *',
      ends_at,
      overlap: 'allow',
      directives: [body],
    };
    await post(`${url}/v1/schedules`, schedule);
    const shown = async () => (await get<ScheduleView>(`${url}/v1/schedules/each-second`)).body;
    let view = await shown();
    while (view.history.length === 0) [view] = [await shown(), await pause(LOOK_EVERY_MS)];
    const requestId = view.history.at(-1)?.request_id ?? '';
    await untilClosed(url, requestId);
    return sceneOf(requestId);
  }

  /** By a schedule that somebody triggers. */
  async function triggered(body: object): Promise<Scene> {
    await post(`${url}/v1/schedules`, { id: 'yearly', cron: '0 0 1 1 *', directives: [body] });
    const { body: firing } = await post<{ request_id: string }>(`${url}/v1/schedules/yearly/trigger`, {});
    await untilClosed(url, firing.request_id);
    return sceneOf(firing.request_id);
  }

  /** By a program that may touch Redis, with traces of its own. */
  async function direct(body: ReturnType<typeof look>): Promise<Scene> {
    const { redis, prefix } = installation;
    const tracing = { url: `${endpoint}/v1/traces`, serviceName: 'program' };
    const client = await createDirectClient({
      redisUrl: redis.url,
      prefix,
      knownServers: ['traced'],
      tracing,
    });
    const { request_id: requestId } = await client.submit(body, { waitMs: 20_000 });
    const traceId = (await client.request(requestId))?.trace_id ?? '';
    await client.close();
    return { requestId, traceId };
  }

  /** The worker dies while the call is under way, and another one takes over. */
  async function killed(body: ReturnType<typeof look>): Promise<Scene> {
    const requestId = await submit(body);
    await untilCalled(folder, body.arguments.label);
    await worker.kill9();
    worker = await installation.start('worker');
    await untilClosed(url, requestId);
    return sceneOf(requestId);
  }

  /** The worker is stopped while the call is under way, and another one takes over. */
  async function released(body: ReturnType<typeof look>): Promise<Scene> {
    const requestId = await submit(body);
    await untilCalled(folder, body.arguments.label);
    await worker.stop();
    worker = await installation.start('worker');
    await untilClosed(url, requestId);
    return sceneOf(requestId);
  }

  /** Until its end there is no worker. */
  async function untaken(body: object): Promise<Scene> {
    await worker.stop();
    const requestId = await submit(body);
    await untilClosed(url, requestId);
    worker = await installation.start('worker');
    return sceneOf(requestId);
  }

  async function run(agent: string, query: string): Promise<Scene> {
    const { body } = await post<{ request_id: string }>(`${url}/v1/requests`, { agent, query });
    const requestId = body.request_id;
    for await (const { type, data } of follow(url, requestId))
      if (type === 'ai.tool.approval_requested')
        await post(`${url}/v1/requests/${requestId}/approvals/${data.call_id}`, { decision: 'approve' });
    return sceneOf(requestId);
  }

  /** A run with fallbacks, two calls at once, a retry, a worker that is killed, and a cancellation. */
  async function everything(): Promise<Scene> {
    const start = { agent: 'steady', query: 'everything' };
    const { body } = await post<{ request_id: string }>(`${url}/v1/requests`, start);
    const scene = await sceneOf(body.request_id);
    await untilEnded(url, scene.requestId, 1);
    await untilCalled(folder, 'in the crash');
    await untilArrived(scene.traceId, 'process tool.traced', 2);
    await worker.kill9();
    worker = await installation.start('worker');
    await untilCalled(folder, 'until the cancel');
    await post(`${url}/v1/requests/${scene.requestId}/cancel`, {});
    await untilClosed(url, scene.requestId);
    return scene;
  }

  const processes = (): AdjutantProcess[] => [api, engine, worker];

  return {
    installation,
    url,
    asked: provider.asked,
    directive,
    repeated,
    repeatedRun,
    cancelled,
    answered,
    direct,
    fired,
    triggered,
    killed,
    released,
    untaken,
    run,
    everything,
    /** Lets every process send what it has left. */
    async stop(): Promise<void> {
      for (const each of processes()) await each.stop();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await installation[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      await remote[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The server counts a call when it has reported it. */
async function untilCalled(folder: string, label: string): Promise<void> {
  const watcher = watch(folder);
  const calls = (): string =>
    existsSync(join(folder, CALLS)) ? readFileSync(join(folder, CALLS), 'utf8') : '';
  while (!calls().includes(`"label":"${label}"`)) await once(watcher, 'change');
  watcher.close();
}

async function untilSignal(url: string, requestId: string, type: string): Promise<void> {
  for await (const signal of follow(url, requestId)) if (signal.type === type) return;
}
