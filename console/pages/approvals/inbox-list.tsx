/** The items of the inbox, one line each.
 *  It must never show arguments: the chosen item does. */
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { shortId } from '../../data/shown.ts';
import { safeText } from '../../data/safe-text.ts';
import { Icon } from '../../parts/icon.tsx';
import { Text } from '../../parts/text.tsx';
import { isUrgent, itemKey, leftWords } from './inbox.ts';

export interface InboxListProps {
  readonly items: readonly OpenApproval[];
  readonly shown: OpenApproval;
  readonly now: number;
  readonly onShow: (item: OpenApproval) => void;
}

/** A person decides about the first ones first. */
const MOST_DRAWN = 200;

export function InboxList({ items, shown, now, onShow }: InboxListProps) {
  return (
    <ul className="approvals-list" aria-label="What waits, the oldest deadline first">
      {items.slice(0, MOST_DRAWN).map((item) => (
        <li key={itemKey(item)}>
          <button
            type="button"
            className="approvals-item"
            aria-current={itemKey(item) === itemKey(shown)}
            onClick={() => onShow(item)}
          >
            <span className="approvals-tool">
              <Icon name={item.kind === 'question' ? 'unknown' : 'pause'} />
              <Text>{item.tool}</Text>
            </span>
            <span className={isUrgent(item.deadline_at, now) ? 'num approvals-urgent' : 'num muted'}>
              {leftWords(item.deadline_at, now)}
            </span>
            <span className="approvals-from muted">
              <Text>{item.agent ?? 'no agent'}</Text> · {shortId(safeText(item.request_id), 24)}
            </span>
          </button>
        </li>
      ))}
      {items.length > MOST_DRAWN && <li className="muted">and {items.length - MOST_DRAWN} more</li>}
    </ul>
  );
}
