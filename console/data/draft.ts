/** Unsent text of a form, which survives leaving and opening the page in this tab.
 *  It must never outlive a sign-out, nor the tab. */
import { useCallback, useState } from 'react';

const PREFIX = 'adjutant.draft.';
/** More is kept in the page alone. */
const MOST_CHARACTERS = 100_000;

/** `name`: of what it is written to. '' takes it away. */
export function useDraft(name: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(() => storage()?.getItem(PREFIX + name) ?? '');
  const set = useCallback(
    (next: string) => {
      setText(next);
      keep(PREFIX + name, next);
    },
    [name],
  );
  return [text, set];
}

export function forgetDrafts(): void {
  const kept = storage();
  if (kept === null) return;
  const names = Array.from({ length: kept.length }, (_, place) => kept.key(place) ?? '');
  for (const name of names) if (name.startsWith(PREFIX)) kept.removeItem(name);
}

function keep(key: string, text: string): void {
  try {
    if (text === '' || text.length > MOST_CHARACTERS) storage()?.removeItem(key);
    else storage()?.setItem(key, text);
  } catch {
    // It is full: the text is in the page.
  }
}

/** null: the browser has none. */
function storage(): Storage | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}
