/** One dead letter: its error, and the directive that ended in it.
 *  It must never act: redriving has a dialog. */
import { Link } from '@tanstack/react-router';
import type { DeadLetter } from '../../../src/contract/directive/dead-letter.ts';
import type { DirectiveView } from '../../../src/contract/request/request-view.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { pathOf, placeOf } from '../../data/tenant.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Json } from '../../parts/json.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { Text } from '../../parts/text.tsx';
import { mayHaveHappened } from './redrive-plan.ts';

export function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { request_id, id, error, lane, attempts } = letter;
  const place = pathOf(path`/v1/requests/${request_id}/directives/${id}`, letter);
  const read = useRead<DirectiveView>(place, { keepOld: false });
  return (
    <div className="dead-details">
      <KeyValues
        rows={[
          ['Error', <Text key="error">{`${error.type}: ${error.message}`}</Text>],
          [
            'Outcome',
            mayHaveHappened(letter) ? 'It may have happened: check its target first.' : 'It failed.',
          ],
          ['Lane', <Text key="lane">{lane ?? '–'}</Text>],
          ['Attempts', attempts],
          [
            'Request',
            <Link key="request" className="dead-link" {...placeOf(letter)}>
              <Text mono>{request_id}</Text>
            </Link>,
          ],
          [
            'Directive',
            <Text key="id" mono>
              {id}
            </Text>,
          ],
        ]}
      />
      {Object.keys(error.details).length > 0 && <Json value={error.details} label="details of the error" />}
      {read.error !== null && <ReadError error={read.error} />}
      {read.data !== undefined && <Json value={read.data.directive} label="directive" />}
    </div>
  );
}
