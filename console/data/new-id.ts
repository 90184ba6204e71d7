/** New ids of what the console submits, so that a repeat after a lost answer is the same submission.
 *  It must never need more than the browser gives on plain HTTP. */

const BYTES = 10;

/** The same id for the same text until the service has taken it. */
export class TextIds {
  #last: { readonly text: string; readonly id: string } | null = null;

  of(text: string): string {
    if (this.#last?.text !== text) this.#last = { text, id: newId() };
    return this.#last.id;
  }

  taken(): void {
    this.#last = null;
  }
}

/** `console-` and 20 characters by chance. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
