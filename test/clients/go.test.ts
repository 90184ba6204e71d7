/** The client that oapi-codegen makes of the service's description.
 *  Public rule: docs/http-api.md, "Generated clients". `npm run test:clients` has it: it downloads the generator's modules. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shared, useRedis } from '../support/shared.ts';
import { isInstalled, OUTCOME, output, startScene } from './scene.ts';

const GENERATOR = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const RUNTIME = ['github.com/oapi-codegen/runtime@v1.9.0', 'github.com/oapi-codegen/nullable@v1.2.0'];

const redis = useRedis();
const scene = shared(async () => startScene(redis.url));

const PROGRAM = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"example.org/program/adjutant"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func echo(delayMs *int) adjutant.SubmissionBody {
	message := map[string]any{"message": "hi"}
	directive := adjutant.ToolExec{Type: "tool_exec", ToolName: "peer.echo", Arguments: &message, DelayMs: delayMs}
	var submitted adjutant.SubmittedDirective
	if err := submitted.FromToolExec(directive); err != nil {
		panic(err)
	}
	var body adjutant.SubmissionBody
	if err := body.FromSubmittedDirective(submitted); err != nil {
		panic(err)
	}
	return body
}

func main() {
	ctx := context.Background()
	client := must(adjutant.NewClientWithResponses(os.Args[1]))

	waitMs := 60000
	submission := must(client.SubmitWithResponse(ctx, &adjutant.SubmitParams{WaitMs: &waitMs}, echo(nil)))
	end := must(submission.JSON200.Directives[0].Result.Discriminator())

	query := "hello"
	run := adjutant.StartRunBody{Agent: "talker", Query: &query}
	started := must(client.RunsStartWithResponse(ctx, &adjutant.RunsStartParams{}, run))
	after, last := 0, ""
	for closed := false; !closed; {
		page := must(client.SignalsWithResponse(ctx, started.JSON202.RequestId, &adjutant.SignalsParams{After: &after}))
		for _, signal := range page.JSON200.Signals {
			known := must(signal.AsKnownSignal())
			last = must(known.Discriminator())
			after++
		}
		closed = page.JSON200.Closed
	}

	delayMs := 3600000
	delayed := must(client.SubmitWithResponse(ctx, &adjutant.SubmitParams{}, echo(&delayMs)))
	reason := "test"
	cancelled := must(client.CancelWithResponse(ctx, delayed.JSON202.RequestId, adjutant.CancelBody{Reason: &reason}))
	outcome := map[string]any{"result": end, "last": last, "cancelled": cancelled.JSON200.Directives[0].Status}
	fmt.Println(string(must(json.Marshal(outcome))))
}
`;

const hasGo = await isInstalled('go', 'version');

test.skipIf(!hasGo)(
  'a Go program submits, starts a run, reads its signals and cancels',
  { timeout: 900_000 },
  async () => {
    const { folder, url } = scene;
    mkdirSync(join(folder, 'adjutant'));
    const given = [
      '-generate',
      'types,client',
      '-package',
      'adjutant',
      '-o',
      'adjutant/client.go',
      'openapi.json',
    ];
    await output('go', ['run', GENERATOR, ...given], { folder });
    writeFileSync(join(folder, 'main.go'), PROGRAM);
    await output('go', ['mod', 'init', 'example.org/program'], { folder });
    await output('go', ['get', ...RUNTIME], { folder });
    await output('go', ['build', '-o', 'program', '.'], { folder });
    expect(JSON.parse(await output(join(folder, 'program'), [url], { folder }))).toEqual(OUTCOME);
  },
);
