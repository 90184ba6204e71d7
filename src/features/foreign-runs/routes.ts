/** Routes of runs that other programs lead: their view, their close, and the steps of their own code.
 *  It must never take the caller from what was sent: a run belongs to who calls. */
import { currentCaller } from '../../http/access/caller.ts';
import type { ApiFeature } from '../../http/api.ts';
import { serve } from '../../http/served-operation.ts';
import type { RunService } from './run-service.ts';

export function foreignRunRoutes(runs: RunService): ApiFeature {
  return {
    routes: (app) => {
      serve(app, 'readRun', async ({ params, query }) =>
        runs.read(params.run, currentCaller(), query.turn ?? null),
      );
      serve(app, 'closeRun', async ({ params, body }) => runs.close(params.run, body, currentCaller()));
      serve(app, 'beginStep', async ({ params, body }) => runs.beginStep(params.run, body, currentCaller()));
      serve(app, 'endStep', async ({ params, body }) => runs.endStep(params.run, body, currentCaller()));
    },
  };
}
