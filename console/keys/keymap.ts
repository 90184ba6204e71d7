/** Single keys and short sequences of the pages: `j`, `Shift+x`, `g r`.
 *  They never act in text fields, and can be turned off. */
import { useEffect, useRef } from 'react';
import { useStored } from '../data/stored.ts';

export type KeyMap = Readonly<Record<string, () => void>>;

const SEQUENCE_MS = 1_200;
const layers: { readonly current: KeyMap }[] = [];
let pending = '';
let pendingAt = 0;

/** While the component is shown. The component that came last is asked first. */
export function useKeys(map: KeyMap): void {
  const held = useRef(map);
  useEffect(() => {
    held.current = map;
  });
  useEffect(() => {
    layers.push(held);
    return () => void layers.splice(layers.indexOf(held), 1);
  }, []);
}

export function useKeysSwitch(): readonly [boolean, (on: boolean) => void] {
  const [value, set] = useStored('keys');
  return [value !== 'off', (on) => set(on ? '' : 'off')];
}

/** Call it once, in the frame. */
export function useKeyListener(): void {
  const [areOn] = useKeysSwitch();
  useEffect(() => {
    if (!areOn) return undefined;
    const press = (event: KeyboardEvent): void => {
      if (!isForUs(event)) return;
      const act = actionOf(nameOf(event), event.timeStamp);
      if (act === null) return;
      event.preventDefault();
      act?.();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [areOn]);
}

/** null: nothing. Undefined: the beginning of a sequence. */
function actionOf(name: string, at: number): (() => void) | undefined | null {
  const begun = at - pendingAt < SEQUENCE_MS ? pending : '';
  pending = '';
  const names = begun === '' ? [name] : [`${begun} ${name}`, name];
  for (const each of names) {
    const found = layers.findLast(({ current }) => Object.hasOwn(current, each))?.current[each];
    if (found !== undefined) return found;
  }
  const begins = layers.some(({ current }) => Object.keys(current).some((key) => key.startsWith(`${name} `)));
  if (!begins) return null;
  pending = name;
  pendingAt = at;
  return undefined;
}

function nameOf({ key, shiftKey }: KeyboardEvent): string {
  // Where Shift makes another character, that is its name.
  const isNamed = key.length > 1 || /[a-z]/i.test(key);
  return shiftKey && isNamed ? `Shift+${key.length === 1 ? key.toLowerCase() : key}` : key;
}

function isForUs(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
    return false;
  const { target } = event;
  if (!(target instanceof HTMLElement)) return true;
  if (target.closest('[role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]')) return false;
  if (/^(?:Enter| |Arrow)/.test(event.key) && target.closest('button, a, summary, [role="tab"]'))
    return false;
  return !target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable="true"]');
}
