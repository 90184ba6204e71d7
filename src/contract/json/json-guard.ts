// Finds what makes a value unfit to send as JSON: too deep nesting, dangerous keys, values that JSON cannot hold.
// Must never descend below its depth bound and never throw, whatever the value is.
import { fieldPath } from './field-path.ts';
import type { FieldError } from '../problem.ts';

const DEFAULT_MAX_DEPTH = 64;
/** Keeps the recursion far from a stack overflow, whatever depth a caller asks for. */
const HIGHEST_MAX_DEPTH = 512;
/** More containers than any accepted body has; only values with shared sub-objects reach it. */
const MAX_CONTAINERS = 4_000_000;

interface Walk {
  readonly maxDepth: number;
  containers: number;
}

/** Where the hazard is (innermost key first) and what it is. */
interface Hazard {
  readonly keys: PropertyKey[];
  readonly message: string;
}

/** The first hazard of `value`, or null when it is JSON that can be stored, hashed and sent as it is. */
export function findJsonHazard(value: unknown, options: { maxDepth?: number } = {}): FieldError | null {
  const maxDepth = Math.min(options.maxDepth ?? DEFAULT_MAX_DEPTH, HIGHEST_MAX_DEPTH);
  const hazard = guarded(value, { maxDepth, containers: 0 });
  return hazard && { path: fieldPath(hazard.keys.toReversed()), message: hazard.message };
}

function guarded(value: unknown, walk: Walk): Hazard | null {
  try {
    return inspect(value, 0, walk);
  } catch {
    return hazardOf('cannot be read');
  }
}

function inspect(value: unknown, depth: number, walk: Walk): Hazard | null {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : hazardOf('is not a finite number');
  if (typeof value !== 'object') return hazardOf(`is not JSON (${typeof value})`);
  if (depth >= walk.maxDepth) return hazardOf(`is nested deeper than ${walk.maxDepth} levels`);
  walk.containers += 1;
  if (walk.containers > MAX_CONTAINERS) return hazardOf('holds too many values');
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return hazardOf('is not a plain JSON value');
  if (Array.isArray(value)) return inspectArray(value, depth, walk);
  return inspectObject(value as Record<string, unknown>, depth, walk);
}

function inspectArray(value: readonly unknown[], depth: number, walk: Walk): Hazard | null {
  for (let index = 0; index < value.length; index += 1) {
    const hazard = inspect(value[index], depth + 1, walk);
    if (hazard) return within(hazard, index);
  }
  return null;
}

function inspectObject(value: Record<string, unknown>, depth: number, walk: Walk): Hazard | null {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return hazardOf('is not a plain JSON value');
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return within(hazardOf('is not allowed as a key'), key);
    const member = value[key];
    if (member === undefined) continue;
    if (key === 'constructor' && hasPrototypeKey(member)) {
      return within(within(hazardOf('is not allowed as a key'), 'prototype'), key);
    }
    const hazard = inspect(member, depth + 1, walk);
    if (hazard) return within(hazard, key);
  }
  return null;
}

function hasPrototypeKey(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function hazardOf(message: string): Hazard {
  return { keys: [], message };
}

function within(hazard: Hazard, key: PropertyKey): Hazard {
  hazard.keys.push(key);
  return hazard;
}

/** Whether `value` nests containers deeper than `levels`; a cycle does. Never recurses, never throws. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (!isContainer(value)) return false;
  let level = new Set([value]);
  for (let depth = 1; level.size > 0; depth += 1) {
    if (depth > levels) return true;
    level = containersIn(level);
  }
  return false;
}

/** Each once, or shared ones would be twice as many with each level. */
function containersIn(level: ReadonlySet<object>): Set<object> {
  const inner = new Set<object>();
  for (const container of level)
    for (const member of Object.values(container)) if (isContainer(member)) inner.add(member);
  return inner;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
