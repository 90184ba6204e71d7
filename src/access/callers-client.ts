// The client of an API that several tenants use: each call goes to the client of the tenant of whoever calls now.
// Must never choose the tenant later than the call: what is read afterwards may run on nobody's behalf.
import type { DirectiveClient, RunClient } from '../contract/directive-client.ts';
import type { ScheduleClient } from '../contract/schedule.ts';
import { DEFAULT_TENANT } from '../contract/tenant.ts';
import { currentCaller } from './caller.ts';

export type ClientOf = (tenant: string) => DirectiveClient;

export function currentTenant(): string {
  return currentCaller()?.tenant ?? DEFAULT_TENANT;
}

/** Of whoever is asked for no key: the default tenant. Closing it closes all. */
export function createCallersClient(clientOf: ClientOf): DirectiveClient {
  const own = (): DirectiveClient => clientOf(currentTenant());
  return {
    submit: (...given) => own().submit(...given),
    execute: (...given) => own().execute(...given),
    result: (...given) => own().result(...given),
    signals: (...given) => own().signals(...given),
    page: (...given) => own().page(...given),
    request: (...given) => own().request(...given),
    trace: (...given) => own().trace(...given),
    directive: (...given) => own().directive(...given),
    payload: (...given) => own().payload(...given),
    cancel: (...given) => own().cancel(...given),
    prioritize: (...given) => own().prioritize(...given),
    answer: (...given) => own().answer(...given),
    deadLetters: (...given) => own().deadLetters(...given),
    requests: (...given) => own().requests(...given),
    approvals: (...given) => own().approvals(...given),
    deadLetterGroups: (...given) => own().deadLetterGroups(...given),
    redrive: (...given) => own().redrive(...given),
    cancelAll: (...given) => own().cancelAll(...given),
    redriveAll: (...given) => own().redriveAll(...given),
    reindex: (...given) => own().reindex(...given),
    runs: callersRuns(() => own().runs),
    schedules: callersSchedules(() => own().schedules),
    agents: () => own().agents(),
    tools: (...given) => own().tools(...given),
    lanes: () => own().lanes(),
    budgets: () => own().budgets(),
    workers: () => own().workers(),
    drainWorker: (...given) => own().drainWorker(...given),
    close: () => clientOf(DEFAULT_TENANT).close(),
  };
}

function callersRuns(own: () => RunClient): RunClient {
  return {
    start: (...given) => own().start(...given),
    input: (...given) => own().input(...given),
    decide: (...given) => own().decide(...given),
  };
}

function callersSchedules(own: () => ScheduleClient): ScheduleClient {
  return {
    create: (...given) => own().create(...given),
    list: (...given) => own().list(...given),
    get: (...given) => own().get(...given),
    replace: (...given) => own().replace(...given),
    pause: (...given) => own().pause(...given),
    resume: (...given) => own().resume(...given),
    trigger: (...given) => own().trigger(...given),
    delete: (...given) => own().delete(...given),
  };
}
