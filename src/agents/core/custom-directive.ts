// A custom directive: checked, then executed within the turn or sent to a worker.
// Must never let a user's code end the engine: an error of that code ends its run.
import { CUSTOM_CONTEXT, ownFields } from '../../contract/directive/custom-directive.ts';
import { fieldErrors, fieldSentence } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import type { JsonObject, CustomDirectiveBody } from '../turn/transition.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { callContext } from './complete-directive.ts';
import type { CustomDirectiveType, Executed, CustomDirective, StopCause } from './directive-exec.ts';
import { claimId } from './gate.ts';
import { failRun } from './lifecycle.ts';
import { accept } from './open-calls.ts';
import { count, type Run } from './run-state.ts';

export type ReadCustom = { ok: true; directive: CustomDirective } | { ok: false; faults: string };

/** The directive's own fields as the schema of its type reads them, under its identity. */
function readCustom(
  customType: CustomDirectiveType,
  raw: Readonly<Record<string, unknown>>,
  identity: { id: string; request_id: string },
): ReadCustom {
  const parsed = customType.schema.safeParse(ownFields(raw));
  if (!parsed.success) {
    const faults = fieldErrors(parsed.error).map((fault) => fieldSentence(fault));
    return { ok: false, faults: faults.join('; ') };
  }
  const { metadata } = raw;
  const noted = typeof metadata === 'object' && metadata !== null ? (metadata as JsonObject) : {};
  const directive = { ...parsed.data, type: customType.type, ...identity, metadata: noted };
  return isJson(directive)
    ? { ok: true, directive }
    : { ok: false, faults: 'its schema returns a value that is not JSON' };
}

/** A schema may return bigints or cycles; a value with a JSON form is stored as that. */
function isJson(value: object): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Why the agent is stopped, or null. */
export function executeCustom(
  run: Run,
  customType: CustomDirectiveType,
  raw: Readonly<Record<string, unknown>>,
): StopCause | null {
  const id = raw['id'] ?? `${customType.type}-${count(run, 'named')}`;
  if (!claimId(run, id)) return null;
  const read = readCustom(customType, raw, { id, request_id: run.spec.request_id });
  if (!read.ok) {
    failRun(run, 'strategy_error', `the directive "${customType.type}" is invalid: ${read.faults}`);
    return null;
  }
  const executed = runExec(run, customType, read.directive);
  if (!executed) return null;
  keepState(run, executed.state);
  if ('stop' in executed) return executed;
  if (customType.mode === 'queued') send(run, read.directive);
  return null;
}

function runExec(
  run: Run,
  customType: CustomDirectiveType,
  directive: CustomDirective,
): Executed<JsonObject> | null {
  const state = run.state.agent_state;
  if (!customType.exec) return { async: true, ref: directive.id, state };
  try {
    const executed: unknown = customType.exec(directive, run.signal, state);
    if (isExecuted(executed)) return executed;
    const message = `exec of "${customType.type}" returned neither ok, async nor stop with a JSON state`;
    failRun(run, 'invalid_result', message);
  } catch (error) {
    failRun(
      run,
      'exception',
      `exec of "${customType.type}" threw: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return null;
}

function isExecuted(value: unknown): value is Executed<JsonObject> {
  if (!isObject(value)) return false;
  const { ok, async, stop, reason, details, state } = value;
  if (!isObject(state)) return false;
  if (findJsonHazard(state)) return false;
  return ok === true || async === true || (stop === true && typeof reason === 'string' && isDetails(details));
}

function isDetails(value: unknown): boolean {
  return value === undefined || isObject(value);
}

function keepState(run: Run, next: JsonObject): void {
  if (next === run.state.agent_state) return;
  run.state.agent_state = next;
  run.state.revision += 1;
}

function send(run: Run, directive: CustomDirectiveBody): void {
  const { request_id, run_id, agent } = run.spec;
  const metadata = { ...directive.metadata, request_id, run_id, agent };
  const complete = { ...directive, [CUSTOM_CONTEXT]: callContext(run), metadata };
  accept(run, complete, { type: directive.type });
}
