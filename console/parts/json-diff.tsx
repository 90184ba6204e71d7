/** Two JSON values and the places where they differ. Never lists more places than its limit, and says when there are more. */
import { useMemo } from 'react';
import { jsonDifferences, type JsonDifference } from './json-differences.ts';
import { Text } from './text.tsx';
import './json.css';

const MOST = 60;
const LONGEST = 600;

export function JsonDiff({ a, b, label }: { a: unknown; b: unknown; label: string }) {
  const { differences, isCut } = useMemo(() => jsonDifferences(a, b, MOST), [a, b]);
  if (differences.length === 0) return <p className="faint">No difference.</p>;
  return (
    <div className="code">
      <ul className="json-diff" aria-label={label}>
        {differences.map((difference) => (
          <Line key={difference.path} {...difference} />
        ))}
        {isCut && <li className="faint">More differences are not listed.</li>}
      </ul>
    </div>
  );
}

function Line(difference: JsonDifference) {
  return (
    <li>
      <Text mono>{difference.path}</Text>
      {'a' in difference && <Side sign="−" value={difference.a} />}
      {'b' in difference && <Side sign="+" value={difference.b} />}
    </li>
  );
}

function Side({ sign, value }: { sign: '−' | '+'; value: unknown }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return (
    <div className={sign === '+' ? 'json-added' : 'json-removed'}>
      {sign} <Text mono>{text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}</Text>
    </div>
  );
}
