/** Vectors that come in another order, twice, or not at all, and batches that are too large.
 *  A vector must never come to another text than its own. */
import assert from 'node:assert/strict';
import { errorIn, type Api } from '../../support/model-calls.ts';
import type { CallRow, Cell, Reply, Seen } from '../row.ts';
import { json, refused } from '../wires.ts';

const TEXTS = ['a', 'b', 'c'];
/** Google answers by position, and Anthropic has no embeddings. */
const INDEXED: readonly Api[] = ['openai-chat', 'openai', 'compatible'];

function vectors(indexes: readonly number[]): Reply {
  const data = indexes.map((index) => ({ object: 'embedding', index, embedding: [index, 0.5] }));
  return json(200, { object: 'list', model: 'm', data, usage: { prompt_tokens: 3, total_tokens: 3 } });
}

const invalid: CallRow['expects'] = (result) => assert.equal(errorIn(result).type, 'invalid_result');

function row(kind: string, indexes: readonly number[], expects: CallRow['expects']): CallRow {
  const rule = 'OpenAI: index is the position of the text in the list of inputs';
  const says = (): Reply => vectors(indexes);
  const asks = { type: 'llm_embed', texts: TEXTS } as CallRow['asks'];
  return { through: 'call', kind, rule, wires: INDEXED, modes: ['whole'], asks: asks ?? {}, says, expects };
}

const inOrder: CallRow['expects'] = ({ execution }) => {
  const { result } = execution;
  assert.ok(result.ok, JSON.stringify(result));
  const { embeddings } = result.payload as { embeddings: unknown };
  assert.deepEqual(
    embeddings,
    TEXTS.map((_text, index) => [index, 0.5]),
  );
};

function oneAtATime({ wire }: Cell, _index: number, { body }: Seen): Reply {
  const input = [body['input']].flat() as string[];
  if (input.length === 1) return vectors([0]);
  return refused(wire, { status: 413, message: 'batch size 3 > maximum allowed batch size 1' });
}

export const EMBEDDINGS: readonly CallRow[] = [
  row('vectors in another order', [2, 0, 1], inOrder),
  row('an index twice', [0, 1, 1], invalid),
  row('an index that is not asked for', [0, 1, 7], invalid),
  row('a vector is missing', [0, 1], invalid),
  {
    ...row('413 for too many texts is split', [], (result, seen) => {
      assert.ok(result.execution.result.ok, JSON.stringify(result.execution.result));
      const texts = seen.map(({ body }) => [body['input']].flat()).filter(({ length }) => length === 1);
      assert.deepEqual(new Set(texts.flat()), new Set(TEXTS));
    }),
    rule: 'text-embeddings-inference: 413 "batch size 64 > maximum allowed batch size 32"',
    says: oneAtATime,
  },
];
