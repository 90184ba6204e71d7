/** The tool calls of runs that other programs lead: which directive a call at the MCP address of a run is.
 *  Waits a moment for the answer that asked for the call, whose note may be under way. */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceUnavailable } from '../../contract/problem.ts';
import type { AskedToolCall, ToolTarget } from '../../contract/run/foreign-run.ts';
import { missingScope } from '../../http/access/caller.ts';
import type { Principal } from '../../http/access/principal.ts';
import { digestOf, normalName } from './model-identity.ts';
import { markOf, ownerOf, refusalOf } from './owner.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { reportReplay } from './replay-span.ts';
import type { RunStore } from './run-store.ts';

export interface ToolCallsParts {
  readonly store: RunStore;
  readonly spans: Spans;
  /** The retention of closed requests of a tenant, milliseconds. */
  readonly keptMs: (tenant: string) => number;
}

const AGAIN_MS = 50;
const MOST_WAITS = 20;
/** How long a note is repeated that Redis does not take. */
const LONGEST_OUTAGE_MS = 60_000;
const LONGEST_PAUSE_MS = 500;

export function createToolCalls({ store, spans, keptMs }: ToolCallsParts) {
  async function find(asked: AskedToolCall, principal: Principal | null): Promise<ToolTarget> {
    // A caller that may only read must not fill the records of runs.
    const refusal = principal === null ? undefined : missingScope(principal, 'submit');
    if (refusal !== undefined) throw refusal;
    const owner = ownerOf(asked.run, principal);
    const call = {
      call: digestOf([asked.tool, asked.arguments]),
      arguments: digestOf(asked.arguments),
      names: [...new Set(asked.names.map(normalName))],
      isOnce: asked.isOnce,
      allowsRepeat: asked.allowsRepeat,
      mark: markOf(asked.pass),
    };
    for (let waits = 0; ; waits += 1) {
      const found = await store.call(owner, { ...call, waits: waits < MOST_WAITS });
      if (found === null) {
        await wait(AGAIN_MS);
        continue;
      }
      if (found.kind !== 'call') throw refusalOf(owner, found);
      const { requestId, traceparent, id, ageMs, isNew } = found;
      const replay = { name: `replay ${asked.tool}`, caller: asked.traceparent, run: traceparent, requestId };
      if (!isNew) reportReplay(spans, replay);
      const again = async (): Promise<string> => store.again(owner, id, requestId);
      return { requestId, traceparent, isOld: ageMs > keptMs(owner.tenant), again };
    }
  }

  return {
    find,
    /** To be called once the answer was written whole: until then an equal `once` call is this one, whichever turn asks for it. */
    given: async (run: string, requestId: string, principal: Principal | null): Promise<void> =>
      untilNoted(async () => store.given(ownerOf(run, principal), requestId)),
  };
}

/**
 * Its caller has the answer and repeats nothing. Without the note an equal call of a later turn gets the same answer, and is not made.
 * Short pauses: a note that comes after that later call would count for its answer.
 */
async function untilNoted(note: () => Promise<void>): Promise<void> {
  const endsAt = performance.now() + LONGEST_OUTAGE_MS;
  for (let pauseMs = AGAIN_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await note();
    } catch (error) {
      if (!(error instanceof ServiceUnavailable) || performance.now() >= endsAt) throw error;
    }
    await wait(pauseMs, undefined, { ref: false });
  }
}
