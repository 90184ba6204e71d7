/** Values by number; keeps only those used last.
 *  It must never keep more than its limit: two copies that get the same calls keep the same values. */

export class RecentlyUsed<T> {
  readonly #most: number;
  readonly #values = new Map<number, T>();

  constructor(most: number) {
    this.#most = most;
  }

  get(id: number): T | undefined {
    const value = this.#values.get(id);
    if (value !== undefined) this.set(id, value);
    return value;
  }

  set(id: number, value: T): void {
    this.#values.delete(id);
    this.#values.set(id, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest);
  }
}
