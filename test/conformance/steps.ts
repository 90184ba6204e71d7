/** One step of a conformance run, and how it ended.
 *  It must never throw: a step that fails does not hide the next one. */

export interface Step {
  readonly name: string;
  /** null: it went as it should. */
  readonly failure: string | null;
}

export async function stepOf(name: string, work: () => Promise<void>): Promise<Step> {
  try {
    await work();
    return { name, failure: null };
  } catch (error) {
    return { name, failure: error instanceof Error ? error.message : String(error) };
  }
}
