import { expect } from 'chai';
import { demoPersons as persons } from '../support/models/demo-person.ts';
import { readVector, WireReplay } from '../support/definitions/recorded-wire.ts';
import type { WireAnswer } from '../support/definitions/recorded-wire.ts';

interface RecordedCommand {
  readonly command: string;
  readonly requests: readonly {
    readonly method: string;
    readonly url: string;
    readonly accept: string;
    readonly contentType?: string;
    readonly body?: unknown;
    readonly status: number;
  }[];
}

const { cases } = JSON.parse(readVector('kubectl-wire.json')) as { readonly cases: readonly RecordedCommand[] };

/**
 * Commands whose responses differ from those of Kubernetes, with the reason. The test also fails when a command in this
 * list does not differ.
 */
const deviations: Readonly<Record<string, string>> = {
  'kubectl apply -f alice-bogus.yaml': 'an unknown field in a strict patch is 400, as in every other write, not 422',
  'kubectl patch person alice --type=strategic -p {"spec":{"age":52}}':
    'a strategic merge patch is treated as a merge patch',
  'kubectl patch person alice -p {"spec":{"age":52}}': 'a strategic merge patch is treated as a merge patch',
  'kubectl replace --raw /apis/demo.example.com/v1alpha1/persons/alice -f alice.json':
    'an update without a precondition is unconditional',
};

/**
 * The test compares neither these commands nor the command after each of them: the recorded server had no garbage
 * collector, so it kept dependents.
 */
const notCompared = ['kubectl delete person bob --cascade=orphan', 'kubectl delete person bob --cascade=foreground'];

describe('the recorded requests of kubectl 1.32.5, one command after the other [spec operators-recorded] [compat recorded]', () => {
  let replay: WireReplay;

  before(async () => {
    replay = await WireReplay.start();
  });

  after(() => replay.server.stop());

  /** Maps the generated name and the continue token of the recording to those of this server. */
  function learn({ body }: WireAnswer, next: string | undefined): void {
    const { generateName, name, continue: token } = body?.metadata ?? {};
    if (generateName !== undefined) replay.learn('gen-w29kx', name as string);
    const [, recorded] = /[?&]continue=([^&]+)/.exec(next ?? '') ?? [];
    if (recorded !== undefined && token !== undefined) replay.learn(recorded, token as string);
  }

  for (const [index, { command, requests }] of cases.entries()) {
    const ofObjects = requests.filter(({ url }) => url.startsWith(persons));
    const isLeft = [command, cases[index - 1]?.command ?? ''].some((each) => notCompared.includes(each));
    const why = isLeft
      ? 'the recorded server kept deleted objects with a finalizer, because it had no garbage collector'
      : deviations[command];
    // The responses of all watches have the same form, so one watch is enough for a run without slow tests.
    const tier = / (-w|--watch)/.test(command) && !command.endsWith('persons -w') ? ' [slow]' : '';
    it(`${index} ${command}${why === undefined ? '' : `, not as recorded: ${why}`}${tier}`, async () => {
      const statuses: number[] = [];
      for (const [at, { url, status, ...request }] of ofObjects.entries()) {
        const answer = await replay.send(
          { name: command, request: { ...request, path: url }, response: { status } },
          {},
        );
        learn(answer, ofObjects[at + 1]?.url);
        statuses.push(answer.status);
      }
      const recorded = ofObjects.map(({ status }) => status);
      if (isLeft) expect(Math.max(...statuses)).to.be.below(500);
      else if (why === undefined) expect(statuses).to.deep.equal(recorded);
      else expect(statuses).not.to.deep.equal(recorded);
    });
  }
});
