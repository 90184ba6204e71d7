/** The answer of a tool: texts, JSON, pictures, sounds, downloads. An answer never becomes markup, a link or a script. */
import { useEffect, useMemo, useState } from 'react';
import { call, path } from '../data/api.ts';
import { bytesText } from '../data/shown.ts';
import { safeText } from '../data/safe-text.ts';
import { ErrorBanner } from './banner.tsx';
import { Button } from './button.tsx';
import { Code, download } from './code.tsx';
import { Json } from './json.tsx';
import { CopyButton } from './copy-button.tsx';
import { Text } from './text.tsx';
import { bytesOf, type ResultPart, resultParts } from './result-parts.ts';
import './result.css';

export interface ResultViewProps {
  readonly payload: unknown;
  readonly requestId: string;
  readonly callId: string;
}

export function ResultView({ payload, requestId, callId }: ResultViewProps) {
  const [whole, setWhole] = useState<{ readonly payload: unknown } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const shown = whole === null ? payload : whole.payload;
  const { parts, left } = useMemo(() => resultParts(shown), [shown]);
  const load = async (then: (loaded: unknown) => void): Promise<void> =>
    call<unknown>('GET', path`/v1/requests/${requestId}/directives/${callId}/payload`).then(then, setError);
  const open = async (): Promise<void> => load((loaded) => setWhole({ payload: loaded }));
  const save = async (): Promise<void> =>
    load((loaded) => download(JSON.stringify(loaded, null, 2), `${requestId}-${callId}.json`));
  return (
    <div className="stack">
      <h3>Result</h3>
      {error !== null && <ErrorBanner error={error} onRetry={() => void open()} />}
      {parts.map((part, place) => (
        <PartView key={place} part={part} onOpen={() => void open()} onSave={() => void save()} />
      ))}
      {parts.length === 0 && <p className="muted">The result is empty.</p>}
      {left > 0 && <p className="muted">{left} more parts are in the payload.</p>}
    </div>
  );
}

interface PartProps {
  readonly part: ResultPart;
  /** Reads the whole payload and shows it. */
  readonly onOpen: () => void;
  /** Reads the whole payload into a file. */
  readonly onSave: () => void;
}

function PartView({ part, onOpen, onSave }: PartProps) {
  switch (part.kind) {
    case 'text':
      return (
        <Labelled label={part.label}>
          <Code label="text">{part.text}</Code>
        </Labelled>
      );
    case 'json':
      return (
        <Labelled label={part.label}>
          <Json value={part.value} label="result" />
        </Labelled>
      );
    case 'link':
      return (
        <div className="row">
          <Text>{part.label}</Text> <Text mono>{part.uri}</Text> <CopyButton text={part.uri} what="address" />
        </div>
      );
    case 'preview':
      return (
        <Labelled label={`The beginning of ${bytesText(part.bytes)}`}>
          <Code label="beginning of the result">{part.text}</Code>
          <div className="row">
            <Button onClick={onOpen}>Show all of it</Button>
            <Button onClick={onSave}>Download all of it</Button>
          </div>
        </Labelled>
      );
    case 'image':
    case 'audio':
    case 'file':
      return <Media part={part} />;
  }
}

function Labelled({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="result-part">
      {label !== '' && (
        <p className="faint">
          <Text>{label}</Text>
        </p>
      )}
      {children}
    </div>
  );
}

type MediaPart = Extract<ResultPart, { kind: 'image' | 'audio' | 'file' }>;

function Media({ part }: { part: MediaPart }) {
  const bytes = useMemo(() => bytesOf(part.base64), [part.base64]);
  // What is not shown is bytes to the browser: a page of a stranger is never opened as one of ours.
  const url = useBlobUrl(bytes, part.kind === 'file' ? 'application/octet-stream' : part.mime);
  const label = safeText(part.label);
  if (bytes === null) return <p className="muted">A part that cannot be read: {label}</p>;
  const size = `${part.mime || 'unknown type'}, ${bytesText(bytes.length)}`;
  return (
    <Labelled label={`${part.label} · ${size}`}>
      {url !== null && part.kind === 'image' && <img className="result-image" src={url} alt={label} />}
      {url !== null && part.kind === 'audio' && <audio controls src={url} aria-label={label} />}
      {url !== null && part.kind === 'file' && (
        <a className="button" href={url} download={part.name}>
          Download {part.name}
        </a>
      )}
    </Labelled>
  );
}

/** null: not made yet. It is given back when the part is gone. */
function useBlobUrl(bytes: Uint8Array<ArrayBuffer> | null, mime: string): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (bytes === null) return undefined;
    const made = URL.createObjectURL(new Blob([bytes], { type: mime }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, mime]);
  return url;
}
