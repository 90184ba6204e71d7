/** The items of the inbox, one each with the beginning of its arguments, and the choice of several. */
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { shortId } from '../../data/shown.ts';
import { safeText } from '../../data/safe-text.ts';
import { Icon } from '../../parts/icon.tsx';
import { Text } from '../../parts/text.tsx';
import { isUrgent, itemKey, leftWords, MOST_CHOSEN } from './inbox.ts';

export interface InboxListProps {
  readonly items: readonly OpenApproval[];
  readonly shown: OpenApproval;
  /** Keys of the items that are decided together. */
  readonly chosen: ReadonlySet<string>;
  readonly now: number;
  readonly onShow: (item: OpenApproval) => void;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

/** A person decides about the first ones first. */
const MOST_DRAWN = 200;
const LONGEST_GIST = 120;

export function InboxList({ items, shown, chosen, now, onShow, onChoose }: InboxListProps) {
  const drawn = items.slice(0, MOST_DRAWN);
  const decidable = drawn.filter(({ kind }) => kind !== 'question').slice(0, MOST_CHOSEN);
  const isAll = decidable.length > 0 && decidable.every((item) => chosen.has(itemKey(item)));
  return (
    <div>
      {decidable.length > 1 && (
        <label className="approvals-all">
          <input
            type="checkbox"
            checked={isAll}
            onChange={() => onChoose(isAll ? new Set() : new Set(decidable.map(itemKey)))}
          />
          Select {decidable.length === items.length ? 'all' : `the first ${decidable.length}`}
        </label>
      )}
      <ul className="approvals-list" aria-label="Waiting, the oldest deadline first">
        {drawn.map((item) => (
          <li key={itemKey(item)} className="approvals-line">
            {item.kind !== 'question' && (
              <label className="check">
                <input
                  type="checkbox"
                  aria-label={`Select ${safeText(item.tool)} of ${safeText(item.request_id)}`}
                  checked={chosen.has(itemKey(item))}
                  onChange={() => onChoose(toggled(chosen, itemKey(item)))}
                />
              </label>
            )}
            <Item item={item} isShown={itemKey(item) === itemKey(shown)} now={now} onShow={onShow} />
          </li>
        ))}
        {items.length > MOST_DRAWN && <li className="muted">and {items.length - MOST_DRAWN} more</li>}
      </ul>
    </div>
  );
}

export function toggled(chosen: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(key)) next.add(key);
  return next;
}

interface ItemProps {
  readonly item: OpenApproval;
  readonly isShown: boolean;
  readonly now: number;
  readonly onShow: (item: OpenApproval) => void;
}

function Item({ item, isShown, now, onShow }: ItemProps) {
  return (
    <button type="button" className="approvals-item" aria-current={isShown} onClick={() => onShow(item)}>
      <span className="approvals-tool">
        <Icon name={item.kind === 'question' ? 'unknown' : 'pause'} />
        <Text>{item.tool}</Text>
      </span>
      <span className={isUrgent(item.deadline_at, now) ? 'num approvals-urgent' : 'num muted'}>
        {leftWords(item.deadline_at, now)}
      </span>
      <span className="approvals-from mono">
        <Text mono>{(item.arguments ?? item.message ?? '').slice(0, LONGEST_GIST)}</Text>
      </span>
      <span className="approvals-from muted">
        <Text>{item.agent ?? 'no agent'}</Text> · {shortId(safeText(item.request_id), 24)}
        {item.tenant !== undefined && ` · tenant ${item.tenant}`}
      </span>
    </button>
  );
}
