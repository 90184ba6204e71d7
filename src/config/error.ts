// Why a configuration cannot be used: each place of it, and how to mend it.
// Must never hold a value of the configuration: it may be a secret.
import { fieldSentence } from '../contract/field-sentence.ts';
import type { FilePlace } from './file.ts';
import type { FieldError } from '../contract/problem.ts';

/** The configuration cannot be used; `errors` name each place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly source: string;
  readonly errors: readonly FieldError[];
  /** How to mend it, in a sentence. */
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
  /** Default: to correct the file. */
  fix?: string;
  /** Where in the file the member of an error stands. Default: nobody knows. */
  placeOf?: (path: string) => FilePlace | null;
}

const CORRECT_FILE = 'Correct the file, or start from the one that `adjutant init` writes in another folder.';

/** An error with a known place has it behind the file's name, as editors and terminals make a link of it. */
function errorText(
  source: string,
  errors: readonly FieldError[],
  placeOf: (path: string) => FilePlace | null,
): string {
  const placed = errors.map((fault) => ({
    place: placeOf(fault.path),
    says: fieldSentence(fault, '(whole file)'),
  }));
  if (placed.every(({ place }) => place === null))
    return `${source}: ${placed.map(({ says }) => says).join('; ')}`;
  return placed
    .map(({ place, says }) => `${source}${place === null ? '' : `:${place.line}:${place.column}`} ${says}`)
    .join('; ');
}
