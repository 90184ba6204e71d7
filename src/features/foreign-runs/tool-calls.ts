/** The tool calls of runs that other programs lead: which directive a call at the MCP address of a run is.
 *  Waits a moment for the answer that asked for the call, whose note may be under way. */
import { setTimeout as wait } from 'node:timers/promises';
import { missingScope } from '../../http/access/caller.ts';
import type { Principal } from '../../http/access/principal.ts';
import { digestOf, normalName } from './model-identity.ts';
import { markOf, ownerOf, refusalOf } from './owner.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { reportReplay } from './replay-span.ts';
import type { RunStore } from './run-store.ts';

/** A tool call of a run, as its host sent it. */
export interface AskedToolCall {
  readonly run: string;
  /** Whole name of the tool. */
  readonly tool: string;
  /** Names under which hosts may know it. */
  readonly names: readonly string[];
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isOnce: boolean;
  /** Value of the header `adjutant-pass`; null: none. */
  readonly pass: string | null;
  readonly allowsRepeat: boolean;
  /** Trace context of its host; anything other than a W3C trace context counts as none. */
  readonly traceparent?: unknown;
}

/** The request of a call, which holds nothing else. */
export interface ToolTarget {
  readonly requestId: string;
  readonly traceparent: string;
  /** Whether its record would be gone by now if it had ended. */
  readonly isOld: boolean;
  /** Another request, for a call that was cancelled and may be made again. */
  again(): Promise<string>;
}

export interface ToolCallsParts {
  readonly store: RunStore;
  readonly spans: Spans;
  /** The retention of closed requests of a tenant, milliseconds. */
  readonly keptMs: (tenant: string) => number;
}

const AGAIN_MS = 50;
const MOST_WAITS = 20;

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
      store.given(ownerOf(run, principal), requestId),
  };
}
