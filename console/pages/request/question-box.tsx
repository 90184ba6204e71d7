/** A question that a tool asks a person, and the answer.
 *  It must never open an address that the tool names: it is text to copy. */
import { useState } from 'react';
import type { OpenInput } from '../../../src/contract/tool/tool-question.ts';
import { call, path } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { objectFault } from '../../data/typed-json.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Json } from '../../parts/json.tsx';
import { TextAreaField } from '../../parts/field.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Text } from '../../parts/text.tsx';

interface QuestionProps {
  readonly requestId: string;
  readonly question: OpenInput;
}

export function QuestionBox({ requestId, question }: QuestionProps) {
  const [text, type] = useState('{}');
  const why = useWhyNot('decide');
  const answer = useChange(async (body: object) =>
    call('POST', path`/v1/requests/${requestId}/inputs/${question.input_id}`, { body }),
  );
  const isSent = answer.isPending || answer.isSuccess;
  const isForm = question.mode === 'form';
  const fault = isForm ? objectFault(text) : null;
  const accept = (): void =>
    answer.mutate({ action: 'accept', ...(isForm ? { content: JSON.parse(text) as unknown } : {}) });
  return (
    <section className="approval" aria-label="Question of a tool">
      <Asked question={question} />
      {isForm && (
        <TextAreaField
          label="Answer"
          error={fault}
          value={text}
          spellCheck={false}
          onChange={({ target }) => type(target.value)}
        />
      )}
      {answer.error !== null && <ErrorBanner error={answer.error} />}
      <div className="row">
        <Button look="primary" why={why} disabled={fault !== null || isSent} onClick={accept}>
          {isForm ? 'Answer' : 'It is done'}
        </Button>
        <Button why={why} disabled={isSent} onClick={() => answer.mutate({ action: 'decline' })}>
          Decline
        </Button>
      </div>
    </section>
  );
}

function Asked({ question }: Pick<QuestionProps, 'question'>) {
  return (
    <>
      <p>
        A tool asks, until <Instant at={question.deadline_at} />:
      </p>
      <p className="entry-text">
        <Text>{question.message}</Text>
      </p>
      {question.url !== undefined && <Code label="address">{question.url}</Code>}
      {question.schema !== undefined && <Json value={question.schema} label="schema of the answer" />}
    </>
  );
}
