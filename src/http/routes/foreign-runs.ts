/** Runs that other programs lead: their view, their close, and the steps of their own code.
 *  It must never take the caller from what was sent: a run belongs to who calls. */
import type { BegunStep, EndedStep, ForeignRunView } from '../../contract/run/foreign-run.ts';
import { currentCaller } from '../access/caller.ts';
import type { Principal } from '../access/principal.ts';
import type { App } from '../app.ts';
import { serve } from '../served-operation.ts';

/** Calls on runs of a caller; null: no key is asked for. */
export interface ForeignRunCalls {
  read(run: string, caller: Principal | null): Promise<ForeignRunView>;
  close(run: string, body: unknown, caller: Principal | null): Promise<ForeignRunView>;
  beginStep(run: string, body: unknown, caller: Principal | null): Promise<BegunStep>;
  endStep(run: string, body: unknown, caller: Principal | null): Promise<EndedStep>;
}

export function foreignRunRoutes(app: App, runs: ForeignRunCalls): void {
  serve(app, 'readRun', async ({ params }) => runs.read(params.run, currentCaller()));
  serve(app, 'closeRun', async ({ params, body }) => runs.close(params.run, body, currentCaller()));
  serve(app, 'beginStep', async ({ params, body }) => runs.beginStep(params.run, body, currentCaller()));
  serve(app, 'endStep', async ({ params, body }) => runs.endStep(params.run, body, currentCaller()));
}
