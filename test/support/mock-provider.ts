/** An independent mock of the providers' HTTP in its own process, with answers that a test has written.
 *  It must never share the service's own code for providers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, spawnNode } from './process.ts';

/** The answer to the prompt `prompt`. */
export interface MockAnswer {
  readonly prompt: string;
  readonly text: string;
  /** Characters of a piece. */
  readonly pieceLength: number;
  /** Between two pieces, milliseconds. */
  readonly paceMs: number;
}

export interface MockProvider {
  /** As `base_url` of an OpenAI-compatible provider. */
  readonly url: string;
  /** How often it was called. */
  asked(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

const PROGRAM = resolve('node_modules/@copilotkit/aimock/dist/cli.js');

export async function startMockProvider(answers: readonly MockAnswer[]): Promise<MockProvider> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-provider-'));
  const file = join(folder, 'answers.json');
  const fixtures = answers.map(({ prompt, text, pieceLength, paceMs }) => ({
    match: { userMessage: prompt },
    response: { content: text },
    chunkSize: pieceLength,
    latency: paceMs,
  }));
  await writeFile(file, JSON.stringify({ fixtures }));
  const port = await freePort();
  const args = [PROGRAM, '-p', String(port), '-f', file, '--log-level', 'info', '--strict'];
  const child = spawnNode(args);
  await child.waitForLine(new RegExp(`listening.*${port}`, 'i'));
  const root = `http://127.0.0.1:${port}`;
  return {
    url: `${root}/v1`,
    asked: async () => {
      const journal = (await (await fetch(`${root}/__aimock/journal?limit=1000`)).json()) as unknown[];
      return journal.length;
    },
    async [Symbol.asyncDispose]() {
      await child.kill9();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
