// The wait for the end of a run that a client has started, over either transport.
import type { DirectiveClient, RunCalls, RunClient } from '../directive/directive-client.ts';
import { ServiceUnavailable } from '../problem.ts';
import type { RunView } from './run.ts';

type Reader = Pick<DirectiveClient, 'signals' | 'request'>;

/** The calls of a client with `run`, which starts a run and follows its signals. */
export function answeredRuns(calls: RunCalls, reader: Reader): RunClient {
  return {
    ...calls,
    run: async (submitted, { timeoutMs, signal, ...options } = {}) => {
      const started = await calls.start(submitted, options);
      const stops = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
      const stop = AbortSignal.any(stops.filter((each) => each !== undefined));
      const view = await endOf(reader, started.request_id, stop);
      if (view !== null) return view;
      signal?.throwIfAborted();
      throw new ServiceUnavailable(`Run ${started.request_id} has not ended in time; it continues.`);
    },
  };
}

/** null: it has not ended, and the wait was stopped. */
async function endOf(reader: Reader, requestId: string, stop: AbortSignal): Promise<RunView | null> {
  for await (const { type } of reader.signals(requestId, { signal: stop }))
    if (type === 'ai.request.completed' || type === 'ai.request.failed') break;
  const view = (await reader.request(requestId))?.run;
  return view === undefined || view.ended_at === null ? null : view;
}
