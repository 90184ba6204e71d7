/** The inbox of approvals and questions, over all requests: the oldest deadline first. Never decides by a key or by Enter alone. */
import { useEffect, useState } from 'react';
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { useNow } from '../../data/use-now.ts';
import { useWhyNot } from '../../data/session.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useKeys } from '../../keys/keymap.ts';
import { ReadError, IncompleteBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { BulkDialog } from './bulk-dialog.tsx';
import { DecisionDialog, type Asked } from './decision-dialog.tsx';
import { itemKey, MOST_CHOSEN } from './inbox.ts';
import { InboxList, toggled } from './inbox-list.tsx';
import { ItemView } from './item-view.tsx';
import { useInbox } from './use-inbox.ts';
import './approvals.css';

export function ApprovalsPage() {
  const { data, error, refetch } = useInbox();
  const now = useNow();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const [asked, ask] = useState<Asked | null>(null);
  const items = (data?.items ?? []).filter((item) => !done.has(itemKey(item)));
  const [shown, show] = useShown(items);
  const [named, choose] = useState<ReadonlySet<string>>(new Set());
  const [bulk, askBulk] = useState<'approve' | 'deny' | null>(null);
  const chosen = items.filter((item) => named.has(itemKey(item)));
  useAnnouncement(items.length);
  useKeys({
    ...keysOf(items, shown, show, ask),
    x: () => shown !== null && shown.kind !== 'question' && choose(toggled(named, itemKey(shown))),
  });
  const forget = (gone: readonly OpenApproval[]): void =>
    setDone((old) => new Set([...old, ...gone.map(itemKey)]));
  return (
    <Page title="Approvals">
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data?.incomplete === true && <IncompleteBanner />}
      {data !== undefined && items.length === 0 && <NoItems isIncomplete={data.incomplete} />}
      {data?.more === true && <p className="muted">More is waiting than is shown here.</p>}
      {shown !== null && (
        <div className="approvals">
          <div className="stack">
            {chosen.length > 0 && (
              <BulkBar count={chosen.length} onAsk={askBulk} onClear={() => choose(new Set())} />
            )}
            <InboxList
              {...{ items, shown, now }}
              chosen={new Set(chosen.map(itemKey))}
              onShow={show}
              onChoose={choose}
            />
          </div>
          <ItemView key={itemKey(shown)} item={shown} now={now} onAsk={ask} />
        </div>
      )}
      {asked !== null && (
        <DecisionDialog
          key={`${itemKey(asked.item)} ${asked.decision}`}
          asked={asked}
          onClose={() => ask(null)}
          onDone={(item) => forget([item])}
        />
      )}
      {bulk !== null && chosen.length > 0 && (
        <BulkDialog
          items={chosen}
          decision={bulk}
          onClose={(gone) => {
            forget(gone);
            askBulk(null);
          }}
        />
      )}
    </Page>
  );
}

function NoItems({ isIncomplete }: { isIncomplete: boolean }) {
  return (
    <Empty
      title={isIncomplete ? 'No pending approvals are known yet.' : 'No pending approvals'}
      command="npx adjutant ask --help"
    >
      A call of a tool whose policy is <code>ask</code> would be here, and a question of a tool.
    </Empty>
  );
}

interface BulkBarProps {
  readonly count: number;
  readonly onAsk: (decision: 'approve' | 'deny') => void;
  readonly onClear: () => void;
}

function BulkBar({ count, onAsk, onClear }: BulkBarProps) {
  const why = useWhyNot('decide');
  const tooMany = count > MOST_CHOSEN ? `At most ${MOST_CHOSEN} at once.` : null;
  return (
    <section className="row" aria-label="Selected items">
      <b>{count} selected</b>
      <Button look="primary" why={why ?? tooMany} onClick={() => onAsk('approve')}>
        Approve {count}…
      </Button>
      <Button look="danger" why={why ?? tooMany} onClick={() => onAsk('deny')}>
        Deny {count}…
      </Button>
      <Button look="ghost" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}

/** The item that the URL names, else the first one. */
function useShown(
  items: readonly OpenApproval[],
): readonly [OpenApproval | null, (item: OpenApproval) => void] {
  const [named, name] = useUrlState('item');
  const shown = items.find((item) => itemKey(item) === named) ?? items[0] ?? null;
  return [shown, (item) => name(itemKey(item))];
}

function keysOf(
  items: readonly OpenApproval[],
  shown: OpenApproval | null,
  show: (item: OpenApproval) => void,
  ask: (asked: Asked) => void,
) {
  const step = (by: number): void => {
    const at = items.findIndex((item) => item === shown);
    const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
    if (next !== undefined) show(next);
  };
  const asking = (decision: Asked['decision']) => (): void => {
    if (shown !== null && shown.kind !== 'question') ask({ item: shown, decision, isEdit: false });
  };
  return {
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    a: asking('approve'),
    d: asking('deny'),
  };
}

/** The number in the title of the tab, for people in another tab. */
function useAnnouncement(count: number): void {
  useEffect(() => {
    document.title = `${count === 0 ? '' : `(${count}) `}Approvals · Adjutant`;
  }, [count]);
}
