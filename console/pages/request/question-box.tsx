/** A question that a tool asks a person, and the answer.
 *  It must never open an address that the tool names: it is text to copy. */
import type { SubmitEvent } from 'react';
import type { OpenInput } from '../../../src/contract/tool/tool-question.ts';
import { call, path } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Text } from '../../parts/text.tsx';
import { useFormState } from '../tools/form-state.ts';
import { FormBody } from '../tools/tool-form.tsx';

interface QuestionProps {
  readonly requestId: string;
  readonly question: OpenInput;
}

const NO_FIELDS = { type: 'object', properties: {} };

export function QuestionBox({ requestId, question }: QuestionProps) {
  const form = useFormState(question.schema ?? NO_FIELDS);
  const why = useWhyNot('decide');
  const answer = useChange(async (body: object) =>
    call('POST', path`/v1/requests/${requestId}/inputs/${question.input_id}`, { body }),
  );
  const isSent = answer.isPending || answer.isSuccess;
  const isForm = question.mode === 'form';
  const accept = (event: SubmitEvent): void => {
    event.preventDefault();
    const content = isForm ? form.read() : undefined;
    if (content !== null) answer.mutate({ action: 'accept', ...(content === undefined ? {} : { content }) });
  };
  return (
    <section className="approval" aria-label="Question of a tool">
      <Asked question={question} />
      <form
        className="tools-form"
        noValidate
        onSubmit={accept}
        data-unsent={(form.isWritten && !answer.isSuccess) || undefined}
      >
        {isForm && <FormBody form={form} label="Answer as JSON" none="It asks for no values." />}
        {answer.error !== null && <ErrorBanner error={answer.error} />}
        <div className="row">
          <Button type="submit" look="primary" why={why} disabled={isSent}>
            {isForm ? 'Answer' : 'It is done'}
          </Button>
          <Button why={why} disabled={isSent} onClick={() => answer.mutate({ action: 'decline' })}>
            Decline
          </Button>
        </div>
      </form>
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
    </>
  );
}
