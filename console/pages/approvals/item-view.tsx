/** One item: the decision that is due, the task of the user, the model's last text, and the ways to decide.
 *  Never decides itself: each way opens a dialog. */
import { Link } from '@tanstack/react-router';
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { effectsOf, effectWords } from '../../data/effect-words.ts';
import { useRead } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { placeOf } from '../../data/tenant.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Json } from '../../parts/json.tsx';
import { jsonInText } from '../../parts/json-lines.ts';
import { Instant } from '../../parts/instant.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { Text } from '../../parts/text.tsx';
import type { Asked } from './decision-dialog.tsx';
import { askedWords, leftWords, noEditReason, shownArguments } from './inbox.ts';

export interface ItemViewProps {
  readonly item: OpenApproval;
  readonly now: number;
  readonly onAsk: (asked: Asked) => void;
}

export function ItemView({ item, now, onAsk }: ItemViewProps) {
  return (
    <section className="approvals-view" aria-label="What is to be decided">
      <h2>
        <Text>{item.tool}</Text> <span className="approvals-what">{askedWords(item)}</span>
      </h2>
      <p className="approvals-left">
        {leftWords(item.deadline_at, now)}, then {endWords(item)}
      </p>
      {typeof item.query === 'string' && item.query !== '' && (
        <blockquote className="approvals-said">
          <p className="faint">The user asked</p>
          <p>
            <Text>{item.query}</Text>
          </p>
        </blockquote>
      )}
      {item.message !== null && item.message !== '' && (
        <p>
          <Text>{item.message}</Text>
        </p>
      )}
      <Arguments item={item} />
      <EffectLine item={item} />
      {item.said !== '' && (
        <blockquote className="approvals-said">
          <p className="faint">The model said before the call</p>
          <p>
            <Text>{item.said}</Text>
          </p>
        </blockquote>
      )}
      <Facts item={item} />
      {item.kind === 'question' ? <AnswerHint item={item} /> : <Ways item={item} onAsk={onAsk} />}
    </section>
  );
}

/** JSON where it is whole; else its beginning as text. */
function Arguments({ item }: { item: OpenApproval }) {
  const text = shownArguments(item);
  const value = item.arguments_cut ? null : jsonInText(text);
  if (text === '') return null;
  return value === null ? <Code label="arguments">{text}</Code> : <Json value={value} label="arguments" />;
}

/** The consequence of no decision. */
function endWords({ kind, agent }: OpenApproval): string {
  if (kind === 'question') return 'it is declined';
  return agent === null ? 'the call fails' : 'the run fails';
}

function EffectLine({ item }: { item: OpenApproval }) {
  const { data } = useRead<ToolListing>('/v1/tools?remembered=true', { enabled: item.kind === 'approval' });
  if (item.kind !== 'approval' || data === undefined) return null;
  const effect = effectsOf(data.tools).get(item.tool) ?? null;
  return (
    <p className={effect === 'once' ? 'approvals-once' : 'muted'}>
      Effect: {effect ?? 'unknown'}. {effectWords(effect)}
    </p>
  );
}

function Facts({ item }: { item: OpenApproval }) {
  const link = (
    <Link className="approvals-link" {...placeOf(item)}>
      <Text mono>{item.request_id}</Text>
    </Link>
  );
  return (
    <KeyValues
      rows={[
        ['Asked by', <Text key="agent">{item.agent ?? 'a call without an agent'}</Text>],
        ['Request', link],
        [
          'Call',
          <Text key="call" mono>
            {item.call_id}
          </Text>,
        ],
        ['Since', <Instant key="since" at={item.since} />],
        ['Until', <Instant key="until" at={item.deadline_at} />],
      ]}
    />
  );
}

function Ways({ item, onAsk }: { item: OpenApproval; onAsk: (asked: Asked) => void }) {
  const why = useWhyNot('decide');
  return (
    <div className="row">
      <Button look="primary" why={why} onClick={() => onAsk({ item, decision: 'approve', isEdit: false })}>
        Approve… <kbd>a</kbd>
      </Button>
      {item.kind === 'approval' && (
        <Button
          why={why ?? noEditReason(item)}
          onClick={() => onAsk({ item, decision: 'approve', isEdit: true })}
        >
          Edit…
        </Button>
      )}
      <Button look="danger" why={why} onClick={() => onAsk({ item, decision: 'deny', isEdit: false })}>
        Deny… <kbd>d</kbd>
      </Button>
    </div>
  );
}

function AnswerHint({ item }: { item: OpenApproval }) {
  return (
    <>
      <p className="muted">Open the request to answer it, or answer at the command line:</p>
      <Code label="command">{`npx adjutant answer ${item.request_id} ${item.input_id ?? item.call_id}`}</Code>
    </>
  );
}
