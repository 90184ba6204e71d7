// The settings of one tool, compiled: the arguments of the tool that is asked, and what its answer says about the lost call.
// Must never take an answer that an expression cannot read for one that says something.
import { filledText, RECONCILE_VARIABLES, type ReconcileSettings } from '../../contract/tool/reconcile.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { dataFrom, isReadable, jsonFrom, readsOf } from '../../platform/expression/data.ts';
import { createCompiler, type Data, evaluationFault } from '../../platform/expression/expression.ts';

/** The lost call. */
export interface LostCall {
  readonly args: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  readonly requestId: string;
  readonly id: string;
}

export type Finding =
  /** `result`: as the operator's expression gives it; absent: there is none. */
  | { readonly kind: 'happened'; readonly result?: unknown }
  | { readonly kind: 'not_happened' }
  /** `reason`: a sentence without its end, which names no value of the answer. */
  | { readonly kind: 'unknown'; readonly reason: string };

export interface Reconcile {
  readonly settings: ReconcileSettings;
  /** null: an argument of the lost call that a placeholder names is absent. */
  argumentsFor(lost: LostCall): Readonly<Record<string, unknown>> | null;
  findingIn(answer: unknown, lost: LostCall): Finding;
}

/** @throws `ExpressionFault`; the configuration has found it before. */
export function compileReconcile(settings: ReconcileSettings): Reconcile {
  const compile = createCompiler(RECONCILE_VARIABLES);
  const happened = compile(settings.happened, 'bool');
  const notHappened = settings.notHappened === null ? null : compile(settings.notHappened, 'bool');
  const result = settings.result === null ? null : compile(settings.result, 'any');

  const reads = readsOf([happened, notHappened, result].filter((each) => each !== null));

  /** undefined: it is too large. */
  function dataIn(value: unknown): Data | undefined {
    const read = dataFrom(value);
    return isReadable(read, reads) ? read.data : undefined;
  }

  function findingIn(answer: unknown, lost: LostCall): Finding {
    const read = dataIn(answer);
    if (read === undefined) return unknown('its answer is too large for expressions');
    const args = dataIn(lost.args);
    const data: Record<string, Data> = {
      result: read,
      // Without arguments that are too large, an expression that reads them fails.
      ...(args === undefined ? {} : { args }),
      idempotency_key: lost.idempotencyKey,
      request_id: lost.requestId,
      directive_id: lost.id,
    };
    try {
      if (isTrue('happened', happened.evaluate(data)))
        return result === null
          ? { kind: 'happened' }
          : { kind: 'happened', result: jsonFrom(result.evaluate(data)) };
      const isNot = notHappened === null || isTrue('not_happened', notHappened.evaluate(data));
      return isNot ? { kind: 'not_happened' } : unknown('its answer says neither');
    } catch (error) {
      return unknown(
        error instanceof NoBoolean ? error.message : `its answer cannot be read: ${evaluationFault(error)}`,
      );
    }
  }

  return {
    settings,
    argumentsFor: (lost) => filled(settings.arguments, lost) as Readonly<Record<string, unknown>> | null,
    findingIn,
  };
}

/** Longer texts are too large for expressions anyway. */
const LONGEST_JSON = 262_144;

/** Many tools write their answer as JSON in a text. */
export function readableAnswer(payload: unknown): unknown {
  if (typeof payload !== 'string' || payload.length > LONGEST_JSON) return payload;
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    return payload;
  }
}

function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}

class NoBoolean extends Error {}
class Absent extends Error {}

function isTrue(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new NoBoolean(`\`${name}\` gave neither true nor false`);
  return value;
}

/** null: a value is absent. */
function filled(template: unknown, lost: LostCall): unknown {
  const valueOf = (name: string): unknown => valueIn(lost, name);
  function fill(value: unknown): unknown {
    if (typeof value === 'string') {
      const text = filledText(value, valueOf);
      if (text === undefined) throw new Absent();
      return text;
    }
    if (Array.isArray(value)) return (value as unknown[]).map(fill);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]));
  }
  try {
    return fill(template);
  } catch (error) {
    if (error instanceof Absent) return null;
    throw error;
  }
}

/** Own members only. undefined: there is none. */
function valueIn({ args, idempotencyKey, requestId, id }: LostCall, name: string): unknown {
  switch (name) {
    case 'idempotency_key':
      return idempotencyKey;
    case 'request_id':
      return requestId;
    case 'directive_id':
      return id;
  }
  let value: unknown = args;
  for (const member of name.split('.').slice(1)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}
