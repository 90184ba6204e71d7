// Submits the work of a job on behalf of its token, and proves later that a job was accepted.
// Never accepts more than HTTP would accept with the same key, and never keeps the token.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { missingScope, onBehalfOf, type SubmitterOf } from '../../http/access/caller.ts';
import type { Gate } from '../../http/access/gate.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { Asked, JobFacts } from './asked.ts';
import type { WorkIds } from './job-end.ts';

/** The accepted work of a job, and its tenant. */
export interface Accepted {
  readonly ids: WorkIds;
  readonly tenant: string;
}

export interface AcceptanceParts {
  /** The client with the rights of the current caller. */
  readonly client: Pick<DirectiveClient, 'submit' | 'runs'>;
  readonly gate: Gate;
  readonly submitterOf: SubmitterOf;
}

/** Throws `DirectiveRefused`, as HTTP would refuse. The same job is the same submission. */
export function createAccept({ client, gate, submitterOf }: AcceptanceParts) {
  async function submit(asked: Extract<Asked, { kind: 'directive' }>, caller: Principal | null) {
    const submission = await client.submit(asked.directive, optionsOf(asked));
    const [entry] = submission.directives;
    if (entry === undefined) throw new Error('a submission without a directive was accepted');
    const ids = { request_id: submission.request_id, id: entry.id };
    if (caller !== null && entry.status === 'existing') await requireOwn(ids, caller);
    return ids;
  }

  /** The end of a directive that another key has submitted is shown to those who may read. */
  async function requireOwn({ request_id, id }: Required<WorkIds>, caller: Principal): Promise<void> {
    const refusal = missingScope(caller, 'read');
    if (refusal !== undefined && (await submitterOf(request_id, id)) !== caller.id) throw refusal;
  }

  /** The result of a run needs `read`, as over HTTP. */
  async function start(asked: Extract<Asked, { kind: 'run' }>, caller: Principal | null) {
    const refusal = caller === null ? undefined : missingScope(caller, 'read');
    if (refusal !== undefined) throw refusal;
    const { request_id } = await client.runs.start(asked.run, optionsOf(asked));
    return { request_id };
  }

  return async (asked: Asked): Promise<Accepted> => {
    const caller = await admitted(gate, asked.token);
    const work = async (): Promise<WorkIds> =>
      asked.kind === 'run' ? start(asked, caller) : submit(asked, caller);
    const ids = caller === null ? await work() : await behalf(caller, work);
    return { ids, tenant: caller?.tenant ?? DEFAULT_TENANT };
  };
}

function optionsOf({ idempotencyKey, traceparent }: Asked) {
  return { idempotencyKey, ...(traceparent === undefined ? {} : { traceparent }) };
}

async function behalf<T>(caller: Principal, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  onBehalfOf(caller, () => void work().then(resolve, reject));
  return promise;
}

const UNAUTHORIZED = {
  missing: 'This service asks for a key: send an API key or a JWT as `token` in the data of the job.',
  wrong: 'The `token` of the job is not known here; or it was revoked, or has expired.',
};

/** null: the service asks for no key. */
async function admitted(gate: Gate, token: string | undefined): Promise<Principal | null> {
  const authorization = token === undefined ? undefined : `Bearer ${token}`;
  const admission = await whileAvailable(async () => gate.admit(authorization));
  if (admission.kind === 'open') return null;
  if (admission.kind === 'admitted') return admission.principal;
  throw new DirectiveRefused(problem('unauthorized', { detail: UNAUTHORIZED[admission.reason] }));
}

/** The progress of an accepted job. `proof`: a producer that writes another progress reaches no other work. */
export interface AcceptedProgress extends WorkIds {
  readonly tenant: string;
  readonly proof: string;
}

export interface Proofs {
  prove(job: JobFacts, accepted: Accepted): Promise<AcceptedProgress>;
  /** null: the job was not accepted yet. */
  accepted(job: JobFacts, progress: unknown): Promise<Accepted | null>;
}

/** `secret`: shared by all processes of the installation. */
export function createProofs(secret: () => Promise<string>): Proofs {
  async function proofOf(job: JobFacts, { ids, tenant }: Accepted): Promise<string> {
    const text = JSON.stringify([
      job.id,
      job.timestamp,
      job.attemptsMade,
      tenant,
      ids.request_id,
      ids.id ?? null,
    ]);
    const key = await whileAvailable(secret);
    return createHmac('sha256', `queue api\n${key}`).update(text).digest('base64url');
  }

  return {
    async prove(job, accepted) {
      return { ...accepted.ids, tenant: accepted.tenant, proof: await proofOf(job, accepted) };
    },
    async accepted(job, progress) {
      if (!isObject(progress)) return null;
      const { request_id, id, tenant, proof } = progress;
      if (typeof request_id !== 'string' || typeof tenant !== 'string' || typeof proof !== 'string')
        return null;
      const ids = { request_id, ...(typeof id === 'string' ? { id } : {}) };
      const expected = Buffer.from(await proofOf(job, { ids, tenant }));
      const given = Buffer.from(proof);
      return given.length === expected.length && timingSafeEqual(given, expected) ? { ids, tenant } : null;
    },
  };
}
