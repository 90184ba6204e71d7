/** Two runs side by side: their sums, the place where they part, and their turns in pairs. Reads both requests and changes nothing. */
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import type { CaseTurn, RecordedCase } from '../../../src/contract/case/case.ts';
import { type CaseComparison, type CaseSums, compareCases } from '../../../src/contract/case/compare.ts';
import { assembledCase, endedDirectives } from '../../../src/contract/case/assemble.ts';
import type { DirectiveView, RequestView } from '../../../src/contract/request/request-view.ts';
import { call, path } from '../../data/api.ts';
import { inTenant } from '../../data/tenant.ts';
import { countText, durationText, moneyText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Page } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { DifferenceView, Turn } from './turn.tsx';
import './compare.css';

export function ComparePage() {
  const [a, setA] = useUrlState('a');
  const [b, setB] = useUrlState('b');
  const { data, error, refetch, isFetching } = useComparison(a, b);
  return (
    <Page
      title="Compare two runs"
      actions={
        <Link className="button button-plain" to="/differences">
          Compare two values
        </Link>
      }
    >
      <Choice
        key={`${a} ${b}`}
        first={[a, b]}
        onChoose={([one, other]) => {
          setA(one);
          setB(other);
        }}
      />
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {isFetching && data === undefined && <p className="muted">Reading both…</p>}
      {data !== undefined && <Compared {...data} />}
    </Page>
  );
}

interface Comparison {
  readonly cases: readonly [RecordedCase, RecordedCase];
  readonly comparison: CaseComparison;
}

function useComparison(a: string, b: string) {
  return useQuery<Comparison>({
    queryKey: ['compare', inTenant(path`/v1/requests/${a}`), b],
    queryFn: async ({ signal }) => {
      const cases = await Promise.all([readCase(a, signal), readCase(b, signal)]);
      return { cases, comparison: compareCases(...cases) };
    },
    enabled: a !== '' && b !== '',
    staleTime: Infinity,
  });
}

async function readCase(requestId: string, signal: AbortSignal): Promise<RecordedCase> {
  const read = async <T,>(place: string): Promise<T> => call<T>('GET', place, { signal });
  const view = await read<RequestView>(path`/v1/requests/${requestId}`);
  const reader = {
    directive: async (id: string, directive: string) =>
      read<DirectiveView>(path`/v1/requests/${id}/directives/${directive}`),
    payload: async (id: string, directive: string) =>
      read<unknown>(path`/v1/requests/${id}/directives/${directive}/payload`),
  };
  const directives = await endedDirectives(reader, view);
  // The tools of a case describe it for a replay; a comparison needs none.
  return { ...assembledCase({ requestId, run: view.run ?? null, directives }), tools: [] };
}

type Pair = readonly [a: string, b: string];

function Choice({ first, onChoose }: { first: Pair; onChoose: (pair: Pair) => void }) {
  const [[a, b], type] = useState<Pair>(first);
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    onChoose([a.trim(), b.trim()]);
  };
  return (
    <form className="compare-choice" onSubmit={send}>
      <TextField label="First request" value={a} onChange={({ target }) => type([target.value, b])} />
      <TextField label="Second request" value={b} onChange={({ target }) => type([a, target.value])} />
      <Button type="submit" disabled={a.trim() === '' || b.trim() === ''}>
        Compare
      </Button>
    </form>
  );
}

function Compared({ cases, comparison }: Comparison) {
  const { parted, turns, a, b } = comparison;
  return (
    <>
      <Table label="Sums" columns={columnsOf(a, b)} rows={SUMS} keyOf={([name]) => name} />
      {parted === null ? (
        <p>
          <Status
            of="succeeded"
            text="Both made the same calls with the same answers, and ended in the same way."
          />
        </p>
      ) : (
        <section className="stack" aria-label="Where they part">
          <h2>
            They part at <Text>{parted.place}</Text>
          </h2>
          <DifferenceView of={parted} />
        </section>
      )}
      <section className="stack" aria-label="Turns">
        <h2>Turns</h2>
        {turns.map((turn) => (
          <Turn
            key={`${turn.a} ${turn.b}`}
            turn={turn}
            sides={[turnOf(cases[0], turn.a), turnOf(cases[1], turn.b)]}
          />
        ))}
      </section>
    </>
  );
}

function turnOf({ turns }: RecordedCase, number: number | null): CaseTurn | null {
  return number === null ? null : (turns[number - 1] ?? null);
}

type Sum = readonly [name: string, text: (sums: CaseSums) => React.ReactNode];

const SUMS: readonly Sum[] = [
  [
    'End',
    ({ status, termination_reason: reason }) =>
      status === null ? (
        '–'
      ) : (
        <Status
          of={status === 'timeout' ? 'failed' : status}
          text={reason === null ? status : `${status} (${reason})`}
        />
      ),
  ],
  ['Turns', ({ turns }) => countText(turns)],
  ['Tool calls', ({ calls }) => countText(calls)],
  ['Tokens', ({ tokens }) => countText(tokens)],
  ['Cost', ({ cost }) => (cost === null ? 'unknown' : moneyText(cost))],
  ['Time', ({ duration_ms: ms }) => (ms === null ? 'unknown' : durationText(ms))],
];

function columnsOf(a: CaseSums, b: CaseSums): readonly Column<Sum>[] {
  return [
    { name: '', cell: ([name]) => name },
    {
      name: 'First',
      cell: ([name, text]) => (name === 'End' ? <RequestCell sums={a}>{text(a)}</RequestCell> : text(a)),
    },
    {
      name: 'Second',
      isWide: true,
      cell: ([name, text]) => (name === 'End' ? <RequestCell sums={b}>{text(b)}</RequestCell> : text(b)),
    },
  ];
}

function RequestCell({ sums: { request_id: id }, children }: { sums: CaseSums; children: React.ReactNode }) {
  return (
    <>
      {children}{' '}
      <Link className="compare-link" to="/requests/$requestId" params={{ requestId: id } as never}>
        Open
      </Link>
    </>
  );
}
