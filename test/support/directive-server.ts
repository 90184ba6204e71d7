/** A directive/ folder of a test, and a client that writes and reads the server's bytes itself.
 *  It must not use a client of the SDK: what is on the wire is what is tested. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { CallReport } from '../../src/servers/directive/call-report.ts';
import { createDirectiveFolder } from '../../src/servers/directive/directive-folder.ts';
import { serveDirectiveStdio } from '../../src/servers/directive/stdio.ts';
import type { NameStyle } from '../../src/servers/directive/tool-descriptors.ts';
import { PROGRAM } from './program.ts';

/** Path → content. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

export const PROCEDURE = 'directive/reference/agent_operating_procedure.md';
export const CONTEXT = 'directive/reference/agent_context.md';
export const templatePath = (kind: string): string => `directive/reference/templates/${kind}_template.md`;

export const WHOLE: Files = {
  [PROCEDURE]: '# Procedure\n\n- **Do not write code** before the review.\n',
  [CONTEXT]: 'CONTEXT: naïve – “quoted”\r\nsecond line\t\n\n',
  [templatePath('spec')]: 'SPEC TEMPLATE\n',
  [templatePath('impact')]: '\uFEFFIMPACT TEMPLATE 🎉\n',
  [templatePath('tdr')]: 'TDR TEMPLATE\n',
};

/** The folder that holds `files`; it is removed after the test. */
export async function placeWith(files: Files): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'adjutant-directive-'));
  onTestFinished(async () => rm(place, { recursive: true, force: true }));
  await write(place, files);
  return place;
}

async function write(place: string, files: Files): Promise<void> {
  const paths = Object.keys(files);
  for (const folder of new Set(paths.map((path) => dirname(join(place, path)))))
    await mkdir(folder, { recursive: true });
  await Promise.all(paths.map(async (path) => writeFile(join(place, path), files[path] ?? '')));
}

export interface Answer {
  readonly id?: string | number | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Peer {
  /** Writes bytes as they are. */
  write(text: string | Uint8Array): void;
  /** Sends a request as a line, and waits for its answer. */
  ask(method: string, params?: unknown): Promise<Answer>;
  /** Closes the input; everything that was answered, once the server has ended. */
  end(): Promise<string>;
}

export interface PeerOptions {
  readonly names?: NameStyle;
  readonly onCall?: (report: CallReport) => void;
}

/** The server in this process, over streams. */
export function openPeer(place: string, { names = 'exact', onCall = () => {} }: PeerOptions = {}): Peer {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const folder = createDirectiveFolder(place);
  const options = { folder, version: '0.0.0', names, onCall };
  const ended = serveDirectiveStdio(options, { input, output }, stop.signal).then(() => output.end());
  onTestFinished(() => stop.abort());
  return peerOver(input, output, ended);
}

/** The command as a process; `more`: options of node. */
export function startPeer(
  args: readonly string[],
  more: readonly string[] = [],
): Peer & { readonly errors: () => string } {
  const program = [...more, PROGRAM, 'directive-server'];
  const child = spawn(process.execPath, [...program, ...args], { stdio: 'pipe' });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  return { ...peerOver(child.stdin, child.stdout, closed), errors: () => errors };
}

function peerOver(
  input: NodeJS.WritableStream,
  output: NodeJS.ReadableStream,
  ended: Promise<unknown>,
): Peer {
  let text = '';
  const listeners = new Set<() => void>();
  output.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    for (const listener of listeners) listener();
  });
  let count = 0;
  const answerTo = async (id: number): Promise<Answer> => {
    const { promise, resolve: found } = Promise.withResolvers<Answer>();
    const look = (): void => {
      const answer = answersIn(text).find((each) => each.id === id);
      if (answer !== undefined) found(answer);
    };
    listeners.add(look);
    look();
    return promise.finally(() => listeners.delete(look));
  };
  return {
    write: (bytes) => void input.write(bytes),
    async ask(method, params) {
      count += 1;
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id: count, method, params })}\n`);
      return answerTo(count);
    },
    async end() {
      input.end();
      await ended;
      return text;
    },
  };
}

/** The whole lines; of frames with headers: `bodiesIn`. */
export function answersIn(text: string): Answer[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Answer);
}

export interface FramedAnswer extends Answer {
  readonly header: string;
  readonly body: string;
}

/** Every frame with a `Content-Length`, cut by that length in bytes. */
export function framesIn(text: string): FramedAnswer[] {
  const frames: FramedAnswer[] = [];
  for (let rest = Buffer.from(text); rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n');
    const header = rest.toString('utf8', 0, end);
    const length = Number(/^Content-Length: (\d+)$/m.exec(header)?.[1]);
    const body = rest.toString('utf8', end + 4, end + 4 + length);
    frames.push({ ...(JSON.parse(body) as Answer), header, body });
    rest = rest.subarray(end + 4 + length);
  }
  return frames;
}

/** The payload inside the one text item of a tool's result. */
export function payloadOf({ result }: Answer): Record<string, unknown> {
  const [item, ...others] = (result?.['content'] ?? []) as { type: string; text: string }[];
  if (item?.type !== 'text' || others.length > 0)
    throw new Error(`No single text item: ${JSON.stringify(result)}`);
  return JSON.parse(item.text) as Record<string, unknown>;
}
