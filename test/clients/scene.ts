/** A service with a worker, an engine and the agent `talker`, and the outcome of a generated client's program against it.
 *  Programs submit a directive and wait for its end, start a run and read its signals to the end, and cancel a delayed directive. */
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { expect } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { untilHolds } from '../support/eventually.ts';
import { startService } from '../support/running-service.ts';

export interface Scene extends AsyncDisposable {
  readonly url: string;
  /** Empty but for `openapi.json`, the description of the running service. */
  readonly folder: string;
}

export async function startScene(redisUrl: string): Promise<Scene> {
  const mock = new LLMock({ port: 0 });
  mock.onMessage('hello', { content: 'Hi.' });
  await mock.start();
  const service = await startService({
    redisUrl,
    config: {
      providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
      models: { fast: 'mock:m' },
      agents: { talker: { description: 'Talks' } },
    },
  });
  const client = createHttpClient({ baseUrl: service.url });
  await untilHolds(async () => expect((await client.tools()).tools).not.toHaveLength(0));
  await client.close();
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-clients-'));
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${service.url}/openapi.json`)).text());
  return {
    url: service.url,
    folder,
    async [Symbol.asyncDispose]() {
      await service.stop();
      await mock.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Printed by every program as one line of JSON. */
export const OUTCOME = { result: 'ai.tool.result', last: 'ai.request.completed', cancelled: 'cancelled' };

/** Resolves with the standard output; rejects with all output where the command fails. */
export async function output(
  command: string,
  args: readonly string[],
  { folder, environment = {} }: { folder: string; environment?: Readonly<Record<string, string>> },
): Promise<string> {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...environment } });
  let [text, all] = ['', ''];
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    all += part.toString();
  });
  child.stderr.on('data', (part: Buffer) => void (all += part.toString()));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('close', resolve);
  const code = await promise;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}:\n${all.slice(-4_000)}`);
  return text;
}

/** Whether a program is installed on this machine. */
export async function isInstalled(command: string, ...args: string[]): Promise<boolean> {
  return output(command, args, { folder: tmpdir() }).then(
    () => true,
    () => false,
  );
}
