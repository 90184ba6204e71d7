/** The report of one call: its tool, its duration, its outcome.
 *  It must never hold anything of an argument or a file. */
import { performance } from 'node:perf_hooks';
import { settledWithin } from '../../platform/lifecycle.ts';
import type { Outcome } from './refusal.ts';
import { toolCalled } from './tool-descriptors.ts';

export interface CallReport {
  /** As the contract names it; `unknown` for a name that the client made up. */
  readonly tool: string;
  readonly durationMs: number;
  /** The code of the refusal; null: the call was answered. */
  readonly errorCode: number | null;
  /** As the caller sent it, valid or not. */
  readonly traceparent: unknown;
}

export type OnCall = (report: CallReport) => void;

/** Sends what is reported of each call to a collector. */
export interface CallExport {
  readonly onCall: OnCall;
  /** Sends what is left; a collector that is away is no fault. */
  close(): Promise<void>;
}

const LONGEST_STOP_MS = 2_000;

export async function closeInTime(close: () => Promise<void>): Promise<void> {
  await settledWithin(
    close().catch(() => {}),
    LONGEST_STOP_MS,
  );
}

export async function reported<Value>(
  { name, traceparent }: { readonly name: string; readonly traceparent: unknown },
  call: () => Promise<Outcome<Value>>,
  onCall: OnCall,
): Promise<Outcome<Value>> {
  const startedAt = performance.now();
  const outcome = await call();
  const errorCode = outcome.ok ? null : outcome.refusal.code;
  const durationMs = performance.now() - startedAt;
  onCall({ tool: toolCalled(name) ?? 'unknown', durationMs, errorCode, traceparent });
  return outcome;
}

/** A line such as `directive-server tool=directive/file.get duration_ms=1.3 outcome=ok`. */
export function reportLine({ tool, durationMs, errorCode }: CallReport): string {
  const outcome = errorCode === null ? 'ok' : `error code=${errorCode}`;
  return `directive-server tool=${tool} duration_ms=${durationMs.toFixed(1)} outcome=${outcome}`;
}
