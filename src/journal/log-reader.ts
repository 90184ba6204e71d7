// Reads the log of signals of a request, in pieces that are bounded by their number and by their bytes.
// Must never write.
import type { Signal } from '../contract/signal.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
import type { RunScript } from './scripts.ts';

export interface PieceSize {
  /** The most signals. */
  limit: number;
  /** The most bytes of JSON. */
  bytes: number;
}

export interface LogPiece {
  signals: Signal[];
  /** The log holds more after the last of them. */
  more: boolean;
}

export function createLogReader(connection: RedisConnection, keys: KeySpace, run: RunScript) {
  /** At most `limit` signals with a sequence above `after`, in order. */
  async function read(requestId: string, after: number, limit: number): Promise<Signal[]> {
    const entries = await connection.xrange(keys.log(requestId), `(${after}-0`, '+', 'COUNT', limit);
    return entries.map(([, fields]) => JSON.parse(fields[1] ?? 'null') as Signal);
  }

  /** As `read`, and of at most so many bytes, but of one signal where there is one. */
  async function readPiece(requestId: string, after: number, { limit, bytes }: PieceSize): Promise<LogPiece> {
    const [more, ...signals] = await run('log-read', keys.request(requestId), [after, limit, bytes]);
    return { signals: signals.map((json) => JSON.parse(String(json)) as Signal), more: more === 1 };
  }

  async function signalAt(requestId: string, sequence: number): Promise<Signal | null> {
    const [signal] = await read(requestId, sequence - 1, 1);
    return signal?.sequence === sequence ? signal : null;
  }

  return { read, readPiece, signalAt };
}
