// What a provider's client has made of the events that it was given, and whether it holds some of them.
// Must never take a client for idle that may still make a part of what it has.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ClientState } from './direct-lead.ts';
import type { OpenBlock } from './direct-text.ts';

type Part = LanguageModelV4StreamPart;

export interface ClientWatch {
  /** The block whose next piece may pass the client by; null: none may. */
  next(): OpenBlock | null;
  state(): ClientState;
  /** The client gets an event; `isShown`: it will show it as a raw part. */
  wasGiven(isShown: boolean): void;
  note(part: Part): void;
  /** Called whenever it is asked for a part, or a part is read. */
  lookLater(): void;
}

function isPiece(part: Part): boolean {
  return (part.type === 'text-delta' || part.type === 'reasoning-delta') && part.delta !== '';
}

/** `isWaiting`: all that there was is read, and the client was asked and has not answered. */
export function createClientWatch(isWaiting: () => boolean): ClientWatch {
  /** Events that the client was given, and those that it has shown as raw parts: the first of what it makes of each. */
  const events = { given: 0, shown: 0 };
  let open: OpenBlock | null = null;
  /** The client has read which model answers, else it would read it of the first event that says so; and has made a piece of its answer
   *  since: what it says of an answer that is cut off depends on that. */
  let known: 'nothing' | 'model' | 'piece' = 'nothing';
  /** The client holds nothing: what comes next is next for the reader, too. */
  let isIdle = false;
  let looking = false;

  /** What the client has made is read within the same tick: a read that still waits in a later one finds nothing. */
  function look(): void {
    looking = false;
    isIdle = isWaiting() && events.given === events.shown;
  }

  return {
    next: () => (isIdle && known === 'piece' ? open : null),
    state: () => ({ open, hasPiece: known === 'piece', isIdle }),
    wasGiven(isShown) {
      isIdle = false;
      if (isShown) events.given += 1;
    },
    lookLater() {
      if (known === 'nothing' || looking || isIdle || events.given !== events.shown) return;
      looking = true;
      setImmediate(look);
    },
    note(part) {
      if (part.type === 'raw') events.shown += 1;
      if (part.type === 'response-metadata') known = 'model';
      if (known === 'model' && isPiece(part)) known = 'piece';
      if (part.type === 'text-start') open = { type: 'text', id: part.id };
      if (part.type === 'reasoning-start') open = { type: 'reasoning', id: part.id };
      if ((part.type === 'text-end' || part.type === 'reasoning-end') && part.id === open?.id) open = null;
      if (part.type === 'error' || part.type === 'finish') open = null;
      if (part.type === 'finish' && known === 'piece') known = 'model';
    },
  };
}
