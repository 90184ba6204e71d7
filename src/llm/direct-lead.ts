// Shows the first pieces of an answer before the provider's client has them: its code is cold, and takes longer for the first event
// than everything after it.
// Must never show what the client would not make of the same bytes, nor anything twice: what the client makes of them later is dropped.
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { DirectProtocol, OpenBlock } from './direct-text.ts';

type Part = LanguageModelV4StreamPart;

/** What the client has made so far. */
export interface ClientState {
  /** null: it has no block under way. */
  readonly open: OpenBlock | null;
  /** It has made a piece. */
  readonly hasPiece: boolean;
  /** It holds nothing, and nothing is on its way to it. */
  readonly isIdle: boolean;
}

export interface Lead {
  /** False: nothing is shown any more. */
  isOpen(): boolean;
  /** Looks at a chunk that the client gets, too; each from the first on. Returns what the client will make of its first pieces. */
  look(events: readonly string[], client: ClientState): readonly Part[];
  /** Whether the client's part was shown already. Throws where the client made something else of what was shown. */
  wasShown(part: Part): boolean;
  /** The client has ended. Throws as `wasShown`. */
  end(): void;
}

/** These say nothing of the text, and are the client's alone. */
const BESIDE_TEXT: ReadonlySet<Part['type']> = new Set(['raw', 'stream-start', 'response-metadata']);

export function createLead({ text: readText, opening }: DirectProtocol): Lead {
  let isOpen = true;
  /** Every event so far was silent. */
  let isAtStart = opening !== undefined;
  /** What was shown and the client has not made yet. */
  let shown: Part[] = [];

  /** The pieces up to the first event that is something else. */
  function piecesOf(events: readonly string[], block: OpenBlock): Part[] {
    const texts = events.map((event) => readText(event, block));
    const end = texts.indexOf(null);
    return texts.slice(0, end === -1 ? texts.length : end).map((text) => pieceOf(block, text ?? ''));
  }

  function atStart(events: readonly string[]): Part[] {
    for (const [index, event] of events.entries()) {
      const read = opening?.(event) ?? null;
      if (read === 'silent') continue;
      isAtStart = false;
      return read === null ? [] : [startOf(read.block), ...piecesOf(events.slice(index), read.block)];
    }
    return [];
  }

  function partsOf(events: readonly string[], { open, isIdle }: ClientState): Part[] {
    if (isAtStart) return atStart(events);
    return open !== null && isIdle ? piecesOf(events, open) : [];
  }

  return {
    isOpen: () => isOpen,
    look(events, client) {
      const parts = client.hasPiece ? [] : partsOf(events, client);
      shown = [...parts];
      isOpen = !client.hasPiece && parts.length === 0 && (isAtStart || opening === undefined);
      return parts;
    },
    wasShown(part) {
      const [next] = shown;
      if (next === undefined || BESIDE_TEXT.has(part.type)) return false;
      if (part.type === 'error') {
        shown = [];
        return false;
      }
      if (!isSame(part, next)) throw misread();
      shown.shift();
      return true;
    },
    end() {
      if (shown.length > 0) throw misread();
    },
  };
}

const startOf = ({ type, id }: OpenBlock): Part => ({ type: `${type}-start`, id });
const pieceOf = ({ type, id }: OpenBlock, delta: string): Part => ({ type: `${type}-delta`, id, delta });

function isSame(part: Part, shown: Part): boolean {
  const [made, expected] = [part, shown] as Partial<Record<'id' | 'delta', string>>[];
  return part.type === shown.type && made?.id === expected?.id && made?.delta === expected?.delta;
}

/** A TypeError, as the client's own where it cannot read what it received. */
function misread(): TypeError {
  return new TypeError('its first piece was read in two ways');
}
