// Why a configuration cannot be used: each faulty place, and how to fix it.
// Must never hold a value of the configuration: it may be a secret.
import { fieldSentence } from '../contract/json/field-error.ts';
import type { FilePlace } from './file.ts';
import type { FieldError } from '../contract/problem.ts';

/** The configuration cannot be used; `errors` name each place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly source: string;
  readonly errors: readonly FieldError[];
  /** How to fix it, in a sentence. */
  readonly fix: string;
  /** Faults of another sort, with another fix. */
  readonly others: readonly ConfigError[];
  /** Every fault, those of the others too, each in a sentence with its place. */
  readonly faults: readonly ConfigFault[];

  constructor(
    source: string,
    errors: readonly FieldError[],
    { fix = CORRECT_FILE, placeOf = () => null, others = [] }: ConfigErrorOptions = {},
  ) {
    super([errorText(source, errors, placeOf), ...others.map(({ message }) => message)].join('; '));
    this.source = source;
    this.errors = errors;
    this.fix = fix;
    this.others = others;
    const own = errors.map((each) => ({ says: errorText(source, [each], placeOf), fix }));
    this.faults = [...own, ...others.flatMap(({ faults }) => faults)];
  }

  /** The same with the places of a file, for what is of that file. */
  placedIn(file: string, placeOf: PlaceOf): ConfigError {
    const others = this.others.map((other) => other.placedIn(file, placeOf));
    const mine = this.source === file ? { placeOf: nearest(placeOf) } : {};
    return new ConfigError(this.source, this.errors, { fix: this.fix, others, ...mine });
  }
}

export interface ConfigFault {
  readonly says: string;
  readonly fix: string;
}

type PlaceOf = (path: string) => FilePlace | null;

/** Finds the place of a missing member: that of its parent. */
function nearest(placeOf: PlaceOf): PlaceOf {
  return (path) => {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.'), at.lastIndexOf('[')))) {
      const place = placeOf(at);
      if (place !== null) return place;
    }
    return null;
  };
}

interface ConfigErrorOptions {
  /** Default: correct the file. */
  fix?: string;
  /** The place of an error's member in the file. Default: unknown. */
  placeOf?: PlaceOf;
  /** Faults of another sort. Default: none. */
  others?: readonly ConfigError[];
}

const CORRECT_FILE = 'Correct the file, or start from the one that the verb `init` writes in another folder.';

/** An error with a known place shows it behind the file's name, where editors and terminals make a link of it. */
function errorText(source: string, errors: readonly FieldError[], placeOf: PlaceOf): string {
  const placed = errors.map((fault) => ({
    place: placeOf(fault.path),
    says: fieldSentence(fault),
  }));
  if (placed.every(({ place }) => place === null))
    return `${source}: ${placed.map(({ says }) => says).join('; ')}`;
  return placed
    .map(({ place, says }) => `${source}${place === null ? '' : `:${place.line}:${place.column}`} ${says}`)
    .join('; ');
}
