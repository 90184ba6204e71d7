/** Which field of a form an error of the service or of a tool belongs to.
 *  It must never lose an error: what fits no field is one of the whole form. */
import type { FieldError } from '../../../src/contract/problem.ts';
import type { FormField } from './form-fields.ts';
import type { FieldFault } from './form-values.ts';

const LONGEST_PATH = 1_024;
const MOST_STEPS = 32;

/** `directives[0].arguments.to["a b"]` as its steps. What cannot be read ends them. */
export function pathSteps(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  const step = /\.?([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  const text = path.slice(0, LONGEST_PATH);
  for (let match = step.exec(text); match !== null && steps.length < MOST_STEPS; match = step.exec(text)) {
    const [, name, index, quoted] = match;
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(unquoted(quoted));
  }
  return steps;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The service names arguments by their place in the directive, a tool by their own names. */
function inArguments(steps: readonly (string | number)[]): readonly (string | number)[] {
  const at = steps.indexOf('arguments');
  const isOfDirective = at === 0 || (at === 2 && steps[0] === 'directives');
  return isOfDirective ? steps.slice(at + 1) : steps;
}

/** Each error with the path of the field that it belongs to; [] = of the whole form. */
export function placedFaults(errors: readonly FieldError[], fields: readonly FormField[]): FieldFault[] {
  return errors.map(({ path, message }) => {
    const steps = inArguments(pathSteps(path));
    const field = fields.find(({ name }) => name === steps[0]);
    if (field === undefined) return { path: [], message: path === '' ? message : `${path} ${message}` };
    const [, inner] = steps;
    const isInGroup = field.kind === 'group' && field.fields.some(({ name }) => name === inner);
    const isEntry = field.kind === 'list' && typeof inner === 'number';
    if (inner !== undefined && (isInGroup || isEntry)) return { path: [field.name, inner], message };
    return { path: [field.name], message: steps.length > 1 ? `${path} ${message}` : message };
  });
}

/** The messages at a place, as one text; null: there is none. */
export function faultAt(faults: readonly FieldFault[], path: readonly (string | number)[]): string | null {
  const here = faults.filter((fault) => samePath(fault.path, path)).map(({ message }) => message);
  return here.length === 0 ? null : here.join('; ');
}

function samePath(one: readonly (string | number)[], other: readonly (string | number)[]): boolean {
  return one.length === other.length && one.every((step, place) => step === other[place]);
}
