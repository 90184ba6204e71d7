/** One removal of a protection: a text of a source, and what stands there instead.
 *  It must never be applied to the sources themselves. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const SCRIPTS = 'src/journal/scripts';

export function patch(file: string, from: string, to: string): Patch {
  return { file, from, to };
}
