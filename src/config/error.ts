// Why a configuration cannot be used: each faulty place, and how to fix it.
// Must never hold a value of the configuration: it may be a secret.
import { fieldSentence } from '../contract/field-sentence.ts';
import type { FilePlace } from './file.ts';
import type { FieldError } from '../contract/problem.ts';

/** The configuration cannot be used; `errors` name each place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly source: string;
  readonly errors: readonly FieldError[];
  /** How to fix it, in a sentence. */
  readonly fix: string;

  constructor(
    source: string,
    errors: readonly FieldError[],
    { fix = CORRECT_FILE, placeOf = () => null }: ConfigErrorOptions = {},
  ) {
    super(errorText(source, errors, placeOf));
    this.source = source;
    this.errors = errors;
    this.fix = fix;
  }
}

interface ConfigErrorOptions {
  /** Default: correct the file. */
  fix?: string;
  /** The place of an error's member in the file. Default: unknown. */
  placeOf?: (path: string) => FilePlace | null;
}

const CORRECT_FILE = 'Correct the file, or start from the one that the verb `init` writes in another folder.';

/** An error with a known place shows it behind the file's name, where editors and terminals make a link of it. */
function errorText(
  source: string,
  errors: readonly FieldError[],
  placeOf: (path: string) => FilePlace | null,
): string {
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
