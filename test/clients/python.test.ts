/** The client that openapi-python-client makes of the service's description.
 *  Public rule: docs/http-api.md, "Generated clients". `npm run test:clients` has it: it installs the generator in an environment of its own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shared, useRedis } from '../support/shared.ts';
import { isInstalled, OUTCOME, output, startScene } from './scene.ts';

const GENERATOR = 'openapi-python-client==0.29.1';

const redis = useRedis();
const scene = shared(async () => startScene(redis.url));

const PROGRAM = `
import json, sys
from generated import Client
from generated.api.directives import submit
from generated.api.requests import cancel, signals
from generated.api.runs import runs_start
from generated.models import CancelBody, StartRunBody, ToolExec, ToolExecArguments, ToolExecType

client = Client(base_url=sys.argv[1], timeout=60.0, raise_on_unexpected_status=True)

def echo(**more):
    arguments = ToolExecArguments.from_dict({"message": "hi"})
    return ToolExec(type_=ToolExecType.TOOL_EXEC, tool_name="peer.echo", arguments=arguments, **more)

submission = submit.sync(client=client, body=echo(), wait_ms=60000)
end = submission.directives[0].result

started = runs_start.sync(client=client, body=StartRunBody(agent="talker", query="hello"))
last, closed = None, False
while not closed:
    page = signals.sync(client=client, request_id=started.request_id, after=last.sequence if last else 0)
    last = page.signals[-1] if page.signals else last
    closed = page.closed

delayed = submit.sync(client=client, body=echo(delay_ms=3600000))
cancelled = cancel.sync(client=client, request_id=delayed.request_id, body=CancelBody(reason="test"))
print(json.dumps({
    "result": str(end.type_),
    "last": str(last.type_),
    "cancelled": str(cancelled.directives[0].status),
}))
`;

const hasPython = await isInstalled('python3', '-m', 'venv', '--help');

test.skipIf(!hasPython)(
  'a Python program submits, starts a run, reads its signals and cancels',
  { timeout: 900_000 },
  async () => {
    const { folder, url } = scene;
    const program = (name: string): string => join(folder, 'venv/bin', name);
    await output('python3', ['-m', 'venv', 'venv'], { folder });
    await output(program('pip'), ['install', '--quiet', GENERATOR], { folder });
    const given = ['generate', '--path', 'openapi.json', '--output-path', 'generated', '--meta', 'none'];
    const said = await output('sh', ['-c', `exec venv/bin/openapi-python-client ${given.join(' ')} 2>&1`], {
      folder,
    });
    // Only the lines of the archive have a media type that it does not know.
    expect(said.match(/^(?:WARNING|ERROR|Unable).*$/gm)).toEqual([
      'WARNING parsing GET /v1/requests/{request_id}/archive within requests.',
    ]);
    writeFileSync(join(folder, 'program.py'), PROGRAM);
    expect(JSON.parse(await output(program('python'), ['program.py', url], { folder }))).toEqual(OUTCOME);
  },
);
