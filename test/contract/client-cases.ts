/** Cases that clients in every language pass, as data: clients/python/tests/run_cases.py executes the same list.
 *  A text `$name` stands for a kept value, and for a new id where none is kept. It must not hold a case itself. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import cases from './client-cases.json' with { type: 'json' };
import { createRunClient, followText } from '../../src/client/http-client.ts';
import { cancellationSchema } from '../../src/contract/directive/cancellation.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { submissionSchema } from '../../src/contract/directive/submission.ts';
import { ServiceUnavailable } from '../../src/contract/problem.ts';
import { requestListingSchema } from '../../src/contract/request/request-listing.ts';
import { directiveViewSchema, requestViewSchema } from '../../src/contract/request/request-view.ts';
import { foreignRunViewSchema } from '../../src/contract/run/foreign-run.ts';
import {
  acceptedInputSchema,
  recordedDecisionSchema,
  runViewSchema,
  startedRunSchema,
  type SubmittedRun,
} from '../../src/contract/run/run.ts';
import { signalPageSchema } from '../../src/contract/signal/signal-page.ts';
import { anySignalSchema, signalSchema } from '../../src/contract/signal/signal.ts';
import { untilHolds } from '../support/eventually.ts';
import { all, newId, refusal, type TransportSetup } from './client-reading.ts';

interface Step {
  readonly call: string;
  readonly with: readonly unknown[];
  /** Values to keep, by the path at which they are in the result; '': all of it. */
  readonly keep?: Readonly<Record<string, string>>;
  /** Path of the compared part. `*`: of each entry; -1: the last entry. */
  readonly pick?: string;
  /** Members that the result has. */
  readonly gives?: unknown;
  /** Members of the problem with which the call is refused. */
  readonly refused?: unknown;
  /** Members of the error in which the directive ends. */
  readonly fails?: unknown;
  readonly unavailable?: true;
  /** Message of another error. */
  readonly throws?: string;
  /** The call is repeated until it gives that. */
  readonly eventually?: true;
}

interface Case {
  readonly name: string;
  readonly over?: 'http';
  readonly steps: readonly Step[];
}

type Options = Readonly<Record<string, unknown>>;
type Calls = Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;

/** `url`: of the service, where the client reaches it over HTTP. */
export function clientCases(
  transport: string,
  setup: () => Promise<TransportSetup & { url?: string }>,
): void {
  describe(`the ${transport} client passes`, () => {
    let parts: TransportSetup & { url?: string };
    let calls: Calls;

    beforeAll(async () => {
      parts = await setup();
      calls = { ...clientCalls(parts.client), ...(parts.url === undefined ? {} : stepCalls(parts.url)) };
    });
    afterAll(async () => {
      await parts?.client.close();
      await parts?.stop();
    });

    for (const { name, over, steps } of cases as readonly Case[])
      test.skipIf(over === 'http' && transport !== 'HTTP')(name, async () => {
        const kept = new Map<string, unknown>();
        for (const step of steps) await execute(calls, kept, step);
      });
  });
}

async function execute(calls: Calls, kept: Map<string, unknown>, step: Step): Promise<void> {
  const { call, gives, refused, fails, unavailable, throws: message } = step;
  const given = filled(step.with, kept) as never[];
  const make = async (): Promise<unknown> => (calls[call] as NonNullable<Calls[string]>)(...given);
  const schema = SCHEMAS[call];
  if (refused !== undefined) expect(await refusal(make())).toMatchObject(refused as object);
  else if (unavailable === true) await expect(make()).rejects.toBeInstanceOf(ServiceUnavailable);
  else if (message !== undefined) await expect(make()).rejects.toThrow(message);
  else if (fails !== undefined)
    expect(await make()).toMatchObject({ data: { result: { ok: false, error: fails } } });
  else {
    const once = async (): Promise<void> => {
      const result = await make();
      if (schema !== undefined) expect(schema.parse(result)).toEqual(result);
      if (gives !== undefined) expectHas(at(result, step.pick ?? ''), filled(gives, kept));
      for (const [name, path] of Object.entries(step.keep ?? {})) kept.set(name, at(result, path));
    };
    await (step.eventually === true ? untilHolds(once) : once());
  }
}

/** Published schemas of results. */
const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  submit: submissionSchema,
  execute: signalSchema,
  result: signalSchema.nullable(),
  follow: z.array(anySignalSchema),
  page: signalPageSchema,
  request: requestViewSchema.nullable(),
  requests: requestListingSchema,
  directive: directiveViewSchema.nullable(),
  cancel: cancellationSchema,
  start: startedRunSchema,
  run: runViewSchema,
  input: acceptedInputSchema,
  approve: recordedDecisionSchema,
  deny: recordedDecisionSchema,
  read_run: foreignRunViewSchema,
  close_run: foreignRunViewSchema,
};

function expectHas(value: unknown, members: unknown): void {
  if (typeof members === 'object' && members !== null) expect(value).toMatchObject(members);
  else expect(value).toEqual(members);
}

function filled(value: unknown, kept: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, kept));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, kept)]));
  if (typeof value !== 'string' || !value.startsWith('$')) return value;
  if (!kept.has(value.slice(1))) kept.set(value.slice(1), newId());
  return kept.get(value.slice(1));
}

function at(value: unknown, path: string): unknown {
  const [first = '', ...rest] = path.split('.');
  if (first === '') return value;
  if (first === '*') return (value as unknown[]).map((each) => at(each, rest.join('.')));
  const member = Array.isArray(value) ? value.at(Number(first)) : (Object(value) as Options)[first];
  return at(member, rest.join('.'));
}

function clientCalls(client: DirectiveClient): Calls {
  const submitOptions = ({ idempotency_key: key }: Options = {}) =>
    key === undefined ? {} : { idempotencyKey: key as string };
  const waitOptions = ({ timeout_ms: ms }: Options = {}) =>
    ms === undefined ? {} : { timeoutMs: Number(ms) };
  const decide =
    (decision: 'approve' | 'deny') =>
    async (id: string, call: string, more: Options = {}) =>
      client.runs.decide(id, call, { decision, ...more });
  return {
    submit: async (directives: SubmittedDirective, options?: Options) =>
      client.submit(directives, submitOptions(options)),
    execute: async (directive: SubmittedDirective, options?: Options) =>
      client.execute(directive, waitOptions(options)),
    result: async (id: string, directive: string, options?: Options) =>
      client.result(id, directive, waitOptions(options)),
    follow: async (id: string, options?: { after?: number }) => all(client.signals(id, options)),
    page: async (id: string, options?: { after?: number; limit?: number }) => client.page(id, options),
    request: async (id: string) => client.request(id),
    requests: async (query: Options) => client.requests(query),
    directive: async (id: string, directive: string) => client.directive(id, directive),
    payload: async (id: string, directive: string) => client.payload(id, directive),
    cancel: async (id: string, directive?: string | null, options?: { reason?: string }) =>
      client.cancel(id, directive ?? undefined, options),
    start: async (run: SubmittedRun) => client.runs.start(run),
    run: async (run: SubmittedRun, options?: Options) => client.runs.run(run, waitOptions(options)),
    text: async (id: string) => all(followText(client.signals(id))),
    input: async (id: string, content: string, more: Options = {}) =>
      client.runs.input(id, { content, ...more }),
    approve: decide('approve'),
    deny: decide('deny'),
  };
}

function stepCalls(baseUrl: string): Calls {
  const runs = createRunClient({ baseUrl });
  return {
    step: async (
      run: string,
      name: string,
      does: { returns?: unknown; throws?: string },
      options?: Options,
    ) =>
      runs.step(
        run,
        name,
        () => {
          if (does.throws !== undefined) throw new Error(does.throws);
          return does.returns;
        },
        options,
      ),
    read_run: async (run: string) => runs.read(run),
    close_run: async (run: string, outcome: Options) => runs.close(run, outcome),
  };
}
