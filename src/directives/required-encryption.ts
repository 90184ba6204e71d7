// The refusal of clear submissions where the operator requires encryption. Never applied to work that the service makes
// of an accepted one: deliveries, redrives, directives of runs.
import type { RunCalls } from '../contract/directive/directive-client.ts';
import { encodedIn, encryptableFields, encryptedFields } from '../contract/encrypted/encrypted.ts';
import { isObject } from '../contract/json/json-object.ts';
import type { DirectiveRefused, FieldError } from '../contract/problem.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import type { ScheduleClient } from '../contract/schedule/schedule.ts';

/** Whether a tenant submits nothing in clear that can be encrypted. */
export type MustEncrypt = (tenant: string) => boolean;

const NOBODY: MustEncrypt = () => false;

/** Throws the refusal of the whole submission. `directives`: as they were read, so that no other form of them is accepted. */
export function requireEncrypted(
  directives: readonly { readonly type: string }[],
  tenant: string,
  mustEncrypt: MustEncrypt = NOBODY,
): void {
  if (!mustEncrypt(tenant)) return;
  const errors = directives.flatMap((directive, position) =>
    isInClear(directive) ? [inClear(directives.length === 1 ? '' : `directives[${position}]`)] : [],
  );
  if (errors.length > 0) throw refused(errors);
}

/** Calls of tools and models by an agent are as encrypted as the run. */
export function runsWithoutClear(
  runs: RunCalls,
  tenant: string,
  mustEncrypt: MustEncrypt = NOBODY,
): RunCalls {
  if (!mustEncrypt(tenant)) return runs;
  return {
    ...runs,
    start: async (run, options) =>
      isObject(run) && encodedIn(run.encrypted) !== null ? runs.start(run, options) : throwClear('encrypted'),
    input: async (requestId, input) =>
      isObject(input) && encodedIn(input.content) !== null
        ? runs.input(requestId, input)
        : throwClear('content'),
  };
}

function throwClear(path: string): never {
  throw refused([inClear(path)]);
}

/** Content of a schedule cannot be encrypted. An existing schedule fires all the same, and its content is refused. */
export function schedulesWithoutClear(
  schedules: ScheduleClient,
  tenant: string,
  mustEncrypt: MustEncrypt = NOBODY,
): ScheduleClient {
  if (!mustEncrypt(tenant)) return schedules;
  return {
    ...schedules,
    create: async (body) => schedules.create(withoutClear(body)),
    replace: async (id, body) => schedules.replace(id, withoutClear(body)),
  };
}

function withoutClear<T>(body: T): T {
  return bringsClear(body) ? unencryptable('a schedule') : body;
}

/** Refusal of a submitted schedule; its other faults are refused by its reader. */
function bringsClear(body: unknown): boolean {
  if (!isObject(body)) return false;
  const directives = Array.isArray(body['directives']) ? (body['directives'] as unknown[]) : [];
  return body['run'] !== undefined || directives.some((each) => isObject(each) && isInClear(each));
}

function isInClear(directive: object): boolean {
  const { type } = directive as { type?: unknown };
  return encryptableFields(String(type)).length > 0 && encryptedFields(directive).length === 0;
}

function inClear(path: string): FieldError {
  return { path, message: `must be encrypted: ${SETTING}` };
}

function unencryptable(what: string): never {
  throw refused([{ path: '', message: `${what} cannot be encrypted: ${SETTING}` }]);
}

function refused(errors: FieldError[]): DirectiveRefused {
  return refusedAt('encryption_required', errors);
}

const SETTING = 'the service takes nothing in clear of this tenant (encryption.required)';
