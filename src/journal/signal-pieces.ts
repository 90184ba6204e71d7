// Pieces that the data of most signals have in common, and how they are left out of a stored signal.
// Must never lose a letter once given: texts with it are stored. A new piece gets a new one.

/** Stands, with the letter of a piece after it, for the piece. JSON has no control characters. */
const PIECE = '\u0006';
/** What stored-signal.ts puts for the ids of the request and of the cause. */
const IDS = '"request_id":"\u0001","run_id":"\u0001"';
/** Metadata is the last member; what is beside these ids is about so long. */
const TAIL_CHARACTERS = 700;

/** A piece is found by what it shares with others of its place, and known by what is before and after that. */
interface Place {
  shared: string;
  /** Of the pieces: the letter, what is before, what is after what they share. The first that fits is taken. */
  pieces: readonly (readonly [letter: string, before: string, after: string])[];
  where: 'start' | 'anywhere' | 'tail';
}

/** In the order in which they stand in a text. Each place is taken once, so what is left out is at most the sum of the longest of them. */
const PLACES: readonly Place[] = [
  {
    shared: '{"call_id":"\u0005","',
    pieces: [
      ['a', '', 'directive_type":"'],
      ['b', '', 'tool_name":"'],
      ['c', '', 'result":{"ok":true,"payload":'],
      ['d', '', ''],
    ],
    where: 'start',
  },
  {
    shared: '"result":{"ok":',
    pieces: [
      ['e', '",', 'true,"payload":'],
      ['f', '",', 'false,"error":{"type":"'],
    ],
    where: 'anywhere',
  },
  {
    shared: IDS,
    pieces: [
      ['g', ',"effects":[]},"metadata":{"origin":"directive",', ''],
      ['h', ',"metadata":{"operation":"tool_execute","origin":"worker_runtime",', ''],
      ['i', ',"metadata":{"operation":"generate_text","origin":"directive",', ''],
      ['j', ',"metadata":{"operation":"stream_text","origin":"directive",', ''],
      ['k', '', ''],
    ],
    where: 'tail',
  },
  {
    shared: ',"attempts":1,"effect":"',
    pieces: [
      ['l', '', 'read","duration_ms":'],
      ['m', '', ''],
    ],
    where: 'tail',
  },
];

interface Piece {
  sign: string;
  text: string;
  /** Where in the text what the pieces of its place share begins. */
  offset: number;
}

const SEARCHED = PLACES.map(({ shared, pieces, where }) => ({
  shared,
  where,
  pieces: pieces.map(([letter, before, after]): Piece => {
    return { sign: PIECE + letter, text: before + shared + after, offset: before.length };
  }),
}));

const TEXTS: ReadonlyMap<string, string> = new Map(
  SEARCHED.flatMap(({ pieces }) => pieces.map(({ sign, text }) => [sign.slice(1), text] as const)),
);

/** `json` has the signs of the ids, and no other control characters. */
export function leaveOutPieces(json: string): string {
  let short = '';
  let done = 0;
  for (const { shared, where, pieces } of SEARCHED) {
    const from = where === 'tail' ? Math.max(done, json.length - TAIL_CHARACTERS) : done;
    const at = where === 'start' ? 0 : json.indexOf(shared, from);
    const piece = at < 0 ? undefined : pieceAt(json, at, done, pieces);
    if (piece === undefined) continue;
    const begin = at - piece.offset;
    short += json.slice(done, begin) + piece.sign;
    done = begin + piece.text.length;
  }
  return done === 0 ? json : short + json.slice(done);
}

function pieceAt(json: string, at: number, done: number, pieces: readonly Piece[]): Piece | undefined {
  for (const piece of pieces)
    if (at - piece.offset >= done && json.startsWith(piece.text, at - piece.offset)) return piece;
  return undefined;
}

/** A text with a letter that is unknown here is no JSON then. */
export function putBackPieces(text: string): string {
  let at = text.indexOf(PIECE);
  let whole = '';
  let done = 0;
  while (at >= 0) {
    whole += text.slice(done, at) + (TEXTS.get(text.charAt(at + 1)) ?? PIECE);
    done = at + 2;
    at = text.indexOf(PIECE, done);
  }
  return done === 0 ? text : whole + text.slice(done);
}
