/** One tool: its description, a form for its arguments, also with those of an earlier call, and the calls made from here.
 *  Never calls a tool that acts once without asking first. */
import { useParams } from '@tanstack/react-router';
import type { ListedServer, ListedTool, ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { encryptedKeyId } from '../../../src/contract/encrypted/encrypted-form.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { DirectiveView } from '../../../src/contract/request/request-view.ts';
import { path } from '../../data/api.ts';
import { effectWords } from '../../data/effect-words.ts';
import { useRead } from '../../data/queries.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Json } from '../../parts/json.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { Text } from '../../parts/text.tsx';
import { CallView } from './call-view.tsx';
import { EffectMark } from './effect-mark.tsx';
import { CALL_ID } from './call-submission.ts';
import { ToolForm } from './tool-form.tsx';
import { CATALOG, Health } from './tools.tsx';

const EVERY_MS = 10_000;

export function ToolPage() {
  const { toolName = '' } = useParams({ strict: false }) as { toolName?: string };
  const { data, error, refetch } = useRead<ToolListing>(CATALOG, { everyMs: EVERY_MS });
  const [requestId, setRequest] = useUrlState('request');
  const [from] = useUrlState('from');
  const earlier = useEarlier(from);
  const tool = data?.tools.find(({ name }) => name === toolName);
  const server = data?.servers.find(({ name }) => name === tool?.server);
  return (
    <Page title={toolName} head={<Head name={toolName} tool={tool} server={server} />}>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data !== undefined && tool === undefined && (
        <Empty title="No server has a tool of this name." command="npx adjutant tools" />
      )}
      {tool !== undefined && (
        <div className="tools-columns">
          <div className="stack">
            {earlier.error !== null && <ReadError error={earlier.error} />}
            {!earlier.isReading && (
              <ToolForm
                key={`${tool.name} ${from}`}
                tool={tool}
                first={earlier.arguments}
                onCalled={setRequest}
              />
            )}
            {requestId !== '' && <CallView key={requestId} requestId={requestId} callId={CALL_ID} />}
          </div>
          <Schemas of={tool} />
        </div>
      )}
    </Page>
  );
}

/** The arguments of an earlier call, `<request>/<directive>`; '' names none. */
function useEarlier(from: string) {
  const [requestId = '', id = ''] = from.split('/');
  const { data, error } = useRead<DirectiveView>(path`/v1/requests/${requestId}/directives/${id}`, {
    enabled: from !== '',
    keepOld: false,
  });
  const directive: unknown = data?.directive;
  const given = isObject(directive) ? directive['arguments'] : undefined;
  const isReading = from !== '' && data === undefined && error === null;
  return { arguments: isObject(given) && encryptedKeyId(given) === null ? given : null, error, isReading };
}

interface HeadProps {
  readonly name: string;
  readonly tool: ListedTool | undefined;
  readonly server: ListedServer | undefined;
}

function Head({ name, tool, server }: HeadProps) {
  return (
    <div className="stack">
      <h1>
        <Text>{name}</Text>
      </h1>
      {tool !== undefined && (
        <div className="tools-facts">
          <span>
            <span className="muted">server</span> <Text>{tool.server}</Text>
          </span>
          {server !== undefined && <Health of={server} />}
          <span>
            <span className="muted">effect</span> <EffectMark of={tool.effect} />
          </span>
          <span className="muted">{effectWords(tool.effect)}</span>
        </div>
      )}
      {tool?.description !== undefined && (
        <p className="tools-description">
          <Text>{tool.description.slice(0, 4_000)}</Text>
        </p>
      )}
    </div>
  );
}

function Schemas({ of: { input_schema, output_schema, annotations } }: { of: ListedTool }) {
  return (
    <aside className="stack tools-schemas" aria-label="Schemas of the tool">
      <h2>Arguments</h2>
      <Json value={input_schema} label="schema of the arguments" />
      {output_schema !== undefined && (
        <>
          <h2>Result</h2>
          <Json value={output_schema} label="schema of the result" />
        </>
      )}
      {annotations !== undefined && Object.keys(annotations).length > 0 && (
        <>
          <h2>Annotations</h2>
          <Json value={annotations} label="annotations" />
        </>
      )}
    </aside>
  );
}
