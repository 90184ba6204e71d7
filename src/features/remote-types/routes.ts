/** Routes of the programs that execute remote directive types: take work, hold it, end it.
 *  It must never give work of a type to a caller whose key does not name it. */
import {
  endWorkBodySchema,
  holdWorkBodySchema,
  type TakenWork,
  takeWorkBodySchema,
} from '../../contract/directive/remote-work.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { currentCaller } from '../../http/access/caller.ts';
import { forbiddenUse } from '../../http/access/use.ts';
import type { ApiFeature } from '../../http/api.ts';
import { serve } from '../../http/served-operation.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { WorkStore } from './work-store.ts';

/** An announcement can be lost, and other programs leave work undone. Milliseconds. */
const TAKE_EVERY_MS = 1_000;

/** `types`: names of the remote types of the configuration. */
export function remoteWorkRoutes(types: ReadonlySet<string>, store: WorkStore): ApiFeature {
  function requireType(type: string): void {
    if (!types.has(type))
      throw new DirectiveRefused(
        problem('not_found', {
          detail: `There is no remote directive type "${type}": name it in \`remote_directives\`.`,
        }),
      );
    const caller = currentCaller();
    const sentence = caller === null ? null : forbiddenUse(caller, { type });
    if (sentence !== null) throw new DirectiveRefused(problem('forbidden', { detail: sentence }));
  }

  async function takeFirst(asked: readonly string[]): Promise<TakenWork | null> {
    for (const type of asked) {
      const taken = await whileAvailable(() => store.take(type));
      if (taken === null) continue;
      const { workId: work_id, token, leaseMs: lease_ms, body } = taken;
      return { type, work_id, token, lease_ms, ...body } as TakenWork;
    }
    return null;
  }

  async function takeInTime(
    asked: readonly string[],
    waitMs: number,
    signal: AbortSignal,
  ): Promise<TakenWork | null> {
    const endsAt = performance.now() + waitMs;
    const watch = store.watch(asked);
    try {
      for (;;) {
        const work = signal.aborted ? null : await takeFirst(asked);
        const leftMs = endsAt - performance.now();
        if (work !== null || signal.aborted || leftMs <= 0) return work;
        await watch.changed(Math.min(TAKE_EVERY_MS, leftMs), signal);
      }
    } finally {
      watch.close();
    }
  }

  return {
    routes(app, { requester, places }) {
      serve(app, 'takeWork', async (request, reply) => {
        const { types: asked } = readBody(takeWorkBodySchema, request.body);
        asked.forEach(requireType);
        places.take(request, reply.raw);
        return { work: await takeInTime(asked, request.query.wait_ms ?? 0, requester(reply.raw)) };
      });
      serve(app, 'holdWork', async ({ body }) => {
        const { type, work_id: workId, token } = readBody(holdWorkBodySchema, body);
        requireType(type);
        return { state: await whileAvailable(() => store.hold(type, workId, token)) };
      });
      serve(app, 'endWork', async ({ body }) => {
        const { type, work_id: workId, token, ...finish } = readBody(endWorkBodySchema, body);
        requireType(type);
        const text = JSON.stringify(finish);
        return { state: await whileAvailable(() => store.end(type, workId, token, text)) };
      });
    },
  };
}
