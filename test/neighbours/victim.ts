/** A tenant that minds its own business: calls over HTTP, a followed request, calls over /mcp, one after the other.
 *  It must never repeat a call that failed: another tenant may not make it fail. */
import { setTimeout as delay } from 'node:timers/promises';
import { askModern } from '../support/modern-requests.ts';
import { frames } from '../support/public-api.ts';

export interface Felt {
  readonly latenciesMs: readonly number[];
  readonly failures: readonly string[];
}

export interface Victim {
  /** Resolves with what was felt until `signal` was aborted, or after `calls` of each kind. */
  watch(until: { readonly signal?: AbortSignal; readonly calls?: number }): Promise<Felt>;
}

const PAUSE_MS = 20;
/** A call that takes longer has failed: clients give up, and so do the shipped probes. */
const PATIENCE_MS = 20_000;
const TOOL = 'shared.answer';

export function createVictim(url: string, key: string): Victim {
  let number = 0;
  const kinds = { submitted, followed, hosted, probed };

  /** Resolves with the id of its request. */
  async function submit(signal: AbortSignal, { wait, expected }: { wait: string; expected: number }) {
    const request_id = `victim-${(number += 1)}`;
    const request = { type: 'tool_exec', id: 'call', request_id, tool_name: TOOL };
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(request), signal };
    const answer = await fetch(`${url}/v1/directives${wait}`, init);
    const text = await answer.text();
    if (answer.status !== expected) throw new Error(`${answer.status} ${text.slice(0, 200)}`);
    return request_id;
  }

  async function submitted(signal: AbortSignal): Promise<void> {
    await submit(signal, { wait: '?wait_ms=15000', expected: 200 });
  }

  async function followed(signal: AbortSignal): Promise<void> {
    const requestId = await submit(signal, { wait: '', expected: 202 });
    for await (const { event } of frames(url, requestId, { key, signal }))
      if (event === 'ai.tool.result') return;
    throw new Error('the stream ended before the result');
  }

  async function hosted(signal: AbortSignal): Promise<void> {
    const params = { name: 'shared__answer', arguments: {} };
    const { status, error, result } = await askModern(`${url}/mcp`, {
      method: 'tools/call',
      name: params.name,
      params,
      key,
      signal,
    });
    if (status !== 200 || error !== undefined || result?.['isError'] === true)
      throw new Error(`${status} ${JSON.stringify(error ?? result).slice(0, 200)}`);
  }

  async function probed(signal: AbortSignal): Promise<void> {
    const answer = await fetch(`${url}/healthz`, { signal });
    if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
    await answer.text();
  }

  return {
    async watch({ signal, calls = Infinity }) {
      const latenciesMs: number[] = [];
      const failures: string[] = [];
      const repeat = async ([name, call]: [
        string,
        (signal: AbortSignal) => Promise<void>,
      ]): Promise<void> => {
        for (let done = 0; done < calls && signal?.aborted !== true; done += 1) {
          const startedAt = performance.now();
          await call(AbortSignal.timeout(PATIENCE_MS)).catch(
            (error: Error) => void failures.push(`${name}: ${error.message}`),
          );
          latenciesMs.push(performance.now() - startedAt);
          await delay(PAUSE_MS);
        }
      };
      await Promise.all(Object.entries(kinds).map(repeat));
      return { latenciesMs, failures };
    },
  };
}
