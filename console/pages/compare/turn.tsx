/** One pair of turns: where its prompts, answers and calls differ, and both sides whole. Draws the sides when the turn is opened. */
import { useState } from 'react';
import type { CaseCall, CaseTurn } from '../../../src/contract/case/case.ts';
import type { ComparedCall, ComparedTurn, Difference } from '../../../src/contract/case/compare.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import { countText, durationText } from '../../data/shown.ts';
import { textOf } from '../../data/typed-json.ts';
import { Code } from '../../parts/code.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Json, JsonDiff } from '../../parts/json.tsx';
import { Text } from '../../parts/text.tsx';

interface TurnProps {
  readonly turn: ComparedTurn;
  readonly sides: readonly [CaseTurn | null, CaseTurn | null];
}

export function Turn({ turn, sides }: TurnProps) {
  const [isOpen, open] = useState(false);
  const { a, b } = turn;
  const differences = differencesOf(turn);
  const isShared = turn.taken_over === true;
  return (
    <details className="compare-turn" onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>
        <span className={differences.length === 0 || isShared ? 'compare-same' : 'compare-other'}>
          <Icon name={differences.length === 0 || isShared ? 'check' : 'differs'} />
        </span>
        <b>{a !== null && b !== null && a !== b ? `Turns ${a} and ${b}` : `Turn ${a ?? b}`}</b>
        <span>
          <Text>{differences.join(', ') || 'the same'}</Text>
        </span>
        <span className="faint num spread">{sumsText(turn)}</span>
      </summary>
      {isOpen && <Whole turn={turn} sides={sides} />}
    </details>
  );
}

function differencesOf({ a, b, asked, answered, calls, ...turn }: ComparedTurn): string[] {
  if ('taken_over' in turn) return ['taken over by the fork'];
  if (b === null) return ['only the first run has it'];
  if (a === null) return ['only the second run has it'];
  return [
    ...(asked === null ? [] : ['other prompt']),
    ...(answered === null ? [] : ['other answer']),
    ...calls.flatMap(({ tool, kind }) => (kind === 'same' ? [] : [`${tool}: ${CALL_WORDS[kind]}`])),
  ];
}

const CALL_WORDS: Readonly<Record<ComparedCall['kind'], string>> = {
  same: 'the same',
  arguments: 'other arguments',
  result: 'other result',
  only_a: 'only in the first',
  only_b: 'only in the second',
};

function sumsText({ sums }: ComparedTurn): string {
  const both = [sums.a, sums.b];
  const tokens = both.map((each) => (each?.usage ? countText(each.usage.total_tokens) : '–')).join(' | ');
  const times = both.map((each) => (each === null ? '–' : durationText(each.duration_ms))).join(' | ');
  return `${tokens} tokens · ${times}`;
}

function Whole({ turn: { asked, answered }, sides }: TurnProps) {
  const [left, right] = sides;
  const pairs = callPairs(left?.calls ?? [], right?.calls ?? []);
  return (
    <div className="stack compare-whole">
      {asked !== null && (
        <section className="stack">
          <h3>
            Prompt: <Text>{asked.place}</Text>
          </h3>
          <DifferenceView of={asked} />
        </section>
      )}
      {answered !== null && (
        <section className="stack">
          <h3>
            Answer: <Text>{answered.place}</Text>
          </h3>
          <DifferenceView of={answered} />
        </section>
      )}
      <div className="compare-sides">
        <Side name="First" turn={left} />
        <Side name="Second" turn={right} />
      </div>
      {pairs.map(([one, other], place) => (
        <CallPair key={place} one={one} other={other} />
      ))}
    </div>
  );
}

function Side({ name, turn }: { name: string; turn: CaseTurn | null }) {
  const model = turn?.model ?? null;
  if (model === null) return <p className="faint">{name}: no model call</p>;
  const { answer } = model;
  const payload = answer.ok && isObject(answer.payload) ? answer.payload : {};
  const text = answer.ok ? textOf(payload['text']) : `${answer.error.type}: ${answer.error.message}`;
  return (
    <section className="stack">
      <h3>
        {name}: <Text>{model.model ?? 'model unknown'}</Text>
      </h3>
      <details>
        <summary>
          Prompt, {model.messages.length} {model.messages.length === 1 ? 'message' : 'messages'}
        </summary>
        <Json
          value={{ system_prompt: model.system_prompt, tools: model.tools, messages: model.messages }}
          label={`prompt of the ${name.toLowerCase()}`}
        />
      </details>
      {text !== '' && <Code label={`answer of the ${name.toLowerCase()}`}>{text}</Code>}
    </section>
  );
}

/** Both values at a place; a side that has none is not shown. */
export function DifferenceView({ of: { place, a, b } }: { of: Difference }) {
  return <JsonDiff a={a} b={b} label={place} />;
}

type CallPairOf = readonly [CaseCall | null, CaseCall | null];

/** Calls of the same tool in their order; the calls of a turn are compared as a set. */
function callPairs(a: readonly CaseCall[], b: readonly CaseCall[]): CallPairOf[] {
  const left = [...b];
  const pairs = a.map((call): CallPairOf => {
    const same = left.findIndex(
      (other) => other.tool === call.tool && isSame(other.arguments, call.arguments),
    );
    const at = same === -1 ? left.findIndex(({ tool }) => tool === call.tool) : same;
    return [call, at === -1 ? null : (left.splice(at, 1)[0] ?? null)];
  });
  return [...pairs, ...left.map((call): CallPairOf => [null, call])];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function CallPair({ one, other }: { one: CaseCall | null; other: CaseCall | null }) {
  const call = one ?? other;
  if (call === null) return null;
  return (
    <section className="stack">
      <h3>
        <Text>{call.tool}</Text>{' '}
        {(one === null || other === null) && (
          <span className="faint">only in the {one === null ? 'second' : 'first'} run</span>
        )}
      </h3>
      {one !== null && other !== null ? (
        <>
          {isSame(one.arguments, other.arguments) ? (
            <Json value={one.arguments} label={`arguments of ${call.tool}`} firstLines={8} />
          ) : (
            <JsonDiff a={one.arguments} b={other.arguments} label={`arguments of ${call.tool}`} />
          )}
          {isSame(one.answer, other.answer) ? (
            <Json value={resultOf(one)} label={`result of ${call.tool}`} firstLines={8} />
          ) : (
            <JsonDiff a={resultOf(one)} b={resultOf(other)} label={`result of ${call.tool}`} />
          )}
        </>
      ) : (
        <>
          <Json value={call.arguments} label={`arguments of ${call.tool}`} firstLines={8} />
          <Json value={resultOf(call)} label={`result of ${call.tool}`} firstLines={8} />
        </>
      )}
    </section>
  );
}

function resultOf({ answer }: CaseCall): unknown {
  return answer.ok ? answer.payload : answer.error;
}
