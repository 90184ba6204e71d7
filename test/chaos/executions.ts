/** The counter files: what tools and models record about their executions, one line each.
 *  It must never be written to by anything but a tool or a model. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ToolExecution {
  /** Which execution of its key by its tool this was, from 1. */
  readonly execution: number;
  /** The tool's name on its server, or the model's. */
  readonly tool: string;
  /** For a tool's call the idempotency key, for a model's the digest of the conversation. */
  readonly key: string;
  readonly label: string;
  /** The trace context that came with a tool's call: its span is of one attempt in one worker. */
  readonly traceparent?: string;
  /** What the model does wrong this time. */
  readonly fault?: string | null;
  /** What the model says, or would say, that the call has taken. */
  readonly tokens?: number;
  /** Of the server. */
  readonly pid: number;
  /** Milliseconds since the epoch; all processes here share the clock. */
  readonly at: number;
}

const SHARDS = 256;

/** A key always counts in the same file, so that a tool can read its earlier executions quickly. */
function shardOf(folder: string, label: string): string {
  let hash = 0;
  for (const character of label) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return join(folder, `counter-${hash % SHARDS}.jsonl`);
}

/** Whole lines only: a server may be about to write one. */
function linesOf(file: string): ToolExecution[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as ToolExecution);
}

/** The counted execution; `faultOf` gets its number. */
export interface Counted extends Pick<ToolExecution, 'tool' | 'key' | 'label' | 'tokens' | 'traceparent'> {
  readonly faultOf?: (execution: number) => string | null;
}

/** Appends in one piece; the file is opened with O_APPEND, so that several servers can write to it. */
export function countExecution(
  folder: string,
  { tool, key, label, tokens, traceparent, faultOf }: Counted,
): ToolExecution {
  const before = executionsOf(folder, label).filter((line) => line.key === key && line.tool === tool);
  const execution = before.length + 1;
  const fault = faultOf === undefined ? {} : { fault: faultOf(execution) };
  const taken = tokens === undefined ? {} : { tokens };
  const from = traceparent === undefined ? {} : { traceparent };
  const line = { tool, key, label, execution, ...from, ...taken, ...fault, pid: process.pid, at: Date.now() };
  appendFileSync(shardOf(folder, label), `${JSON.stringify(line)}\n`);
  return line;
}

export function executionsOf(folder: string, label: string): ToolExecution[] {
  return linesOf(shardOf(folder, label)).filter((line) => line.label === label);
}

/** All that was counted, by whomever. */
export function allExecutions(folder: string): ToolExecution[] {
  return Array.from({ length: SHARDS }, (_, shard) => linesOf(join(folder, `counter-${shard}.jsonl`))).flat();
}
