/** Small choices of this browser: theme, keys. They are text in its storage.
 *  It must never store what came from the service. */
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
/** Where the browser has no storage, choices last as long as the page. */
const unstored = new Map<string, string>();

function read(name: string): string {
  try {
    return localStorage.getItem(name) ?? '';
  } catch {
    return unstored.get(name) ?? '';
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    unstored.set(name, value);
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    removeEventListener('storage', listener);
  };
}

export function useStored(name: string): readonly [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => read(`adjutant.${name}`));
  return [value, (next) => write(`adjutant.${name}`, next)];
}
