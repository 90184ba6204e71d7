// The newest lines that the programs of MCP servers write to stderr: gathered by their worker, kept in Redis for every API.
// Must never hold up a worker or Redis for a program that writes without end, nor take a line whose secrets are not redacted.
import {
  LONGEST_OUTPUT_LINE,
  OUTPUT_KEPT_MS,
  OUTPUT_LINES_KEPT,
  type ServerOutput,
} from '../../contract/tool/server-output.ts';
import { createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';

const WRITE_EVERY_MS = 1_000;
const LONGEST_STOP_MS = 1_000;

type OutputLine = ServerOutput['lines'][number];

/** `suppressed`: lines before it that came too fast. */
export type AddLine = (server: string, line: string, suppressed: number) => void;

export interface OutputGatherer {
  readonly add: AddLine;
  drain(): Map<string, OutputLine[]>;
}

/** `worker`: id of this process. */
export function createOutputGatherer(worker: string): OutputGatherer {
  let servers = new Map<string, OutputLine[]>();
  return {
    add(server, line, suppressed) {
      const lines = servers.get(server) ?? [];
      servers.set(server, lines);
      lines.push({
        at: new Date().toISOString(),
        worker,
        text: line.slice(0, LONGEST_OUTPUT_LINE).toWellFormed(),
        ...(suppressed > 0 ? { suppressed } : {}),
      });
      // Further ones than are kept, as during an outage of Redis.
      if (lines.length > 2 * OUTPUT_LINES_KEPT) lines.splice(0, lines.length - OUTPUT_LINES_KEPT);
    },
    drain() {
      const drained = servers;
      servers = new Map();
      return drained;
    },
  };
}

/** A lost answer of Redis may write a line twice. */
export function createOutputWriter(
  connection: RedisConnection,
  keys: KeySpace,
  { drain }: Pick<OutputGatherer, 'drain'>,
  onError: (error: Error) => void,
): Startable {
  async function write(): Promise<void> {
    for (const [server, lines] of drain()) {
      const key = keys.serverOutput(server);
      const newest = lines.slice(-OUTPUT_LINES_KEPT).map((line) => JSON.stringify(line));
      await Promise.all([
        connection.rpush(key, ...newest),
        connection.ltrim(key, -OUTPUT_LINES_KEPT, -1),
        connection.pexpire(key, OUTPUT_KEPT_MS),
      ]);
    }
  }

  const loop = createLoop({
    name: 'output of servers',
    work: write,
    everyMs: WRITE_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return {
    ...loop,
    async stop(by) {
      await loop.stop(by);
      await write().catch(onError);
    },
  };
}

export async function readOutput(
  connection: RedisConnection,
  keys: KeySpace,
  server: string,
): Promise<ServerOutput> {
  const texts = await connection.lrange(keys.serverOutput(server), 0, -1);
  return { server, lines: texts.flatMap(lineIn) };
}

/** Lines that a later version wrote in another form are left out. */
function lineIn(text: string): OutputLine[] {
  const { at, worker, text: line, suppressed } = JSON.parse(text) as Record<string, unknown>;
  if (typeof at !== 'string' || typeof worker !== 'string' || typeof line !== 'string') return [];
  return [{ at, worker, text: line, ...(typeof suppressed === 'number' ? { suppressed } : {}) }];
}
