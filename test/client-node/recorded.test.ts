import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { appliedPerson, appliedPersons } from '../support/models/applied-person.ts';
import { TestServer } from '../support/servers/test-server.ts';

/** A recorded request of client-node, and the status of Kubernetes' response. */
interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly accept: string;
  readonly contentType: string | null;
  /** The start of the request body; the recording has cut off long bodies. */
  readonly body: string;
  readonly status: number;
}

const recordings = JSON.parse(
  readFileSync(new URL('../../vectors/client-node-wire.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly Recorded[]>>;

/**
 * Intended differences between the responses of this server and of Kubernetes, with the reason. The keys are those that
 * `deviationOf` returns.
 */
const deviations: Readonly<Record<string, { readonly status: number; readonly why: string }>> = {
  'PATCH application/strategic-merge-patch+json': {
    status: 200,
    why: 'a strategic merge patch, which client-node sends by default, is treated as a merge patch',
  },
  'PUT without resourceVersion': { status: 200, why: 'an update without a precondition is unconditional' },
  [`GET ${appliedPersons}/jsb/scale`]: { status: 404, why: 'the model of the test has no scale subresource' },
  'GET /readyz': { status: 200, why: 'the recorded server was not ready' },
  'POST after Foreground': {
    status: 201,
    why: 'the recorded server refused the creation, because it still had the object of an earlier recording',
  },
};

function isCutOff(body: string): boolean {
  return !body.endsWith('}}');
}

function deviationOf({ method, url, contentType, body, status }: Recorded): string {
  if (method === 'PUT' && !isCutOff(body)) return 'PUT without resourceVersion';
  if (method === 'POST' && status === 409 && body.includes('"jsc"')) return 'POST after Foreground';
  return `${method} ${method === 'PATCH' ? contentType : url}`;
}

for (const [client, requests] of Object.entries(recordings)) {
  describe(`the recorded requests of ${client} [compat recorded]`, () => {
    let server: TestServer;

    before(async () => {
      server = await TestServer.start();
      server.api.schemeManager.register(appliedPerson);
      await server.api.whenReady(appliedPerson);
    });

    after(async () => server.stop());

    /**
     * Returns the recorded body. For a PUT whose body was cut off, returns the object that this server has, with
     * another `spec.age` and the recorded `creationTimestamp`.
     */
    async function bodyOf({ method, url, body }: Recorded): Promise<string | undefined> {
      if (body === '') return undefined;
      if (method !== 'PUT' || !isCutOff(body)) return body;
      const { body: read } = await server.get(url);
      const [, creationTimestamp] = /"creationTimestamp":"([^"]+)"/.exec(body)!;
      return JSON.stringify({
        ...read,
        metadata: { ...read.metadata, creationTimestamp },
        spec: { ...read.spec, age: 5 },
      });
    }

    async function answerTo(recorded: Recorded): Promise<number> {
      const { method, url, accept, contentType } = recorded;
      if (url.includes('watch=true')) {
        const revision = await server.revision(appliedPersons);
        const { status } = await server.watch(url.replace(/resourceVersion=\d+/, `resourceVersion=${revision}`), {
          accept,
        });
        return status;
      }
      const options = { body: await bodyOf(recorded), type: contentType ?? '', headers: { accept } };
      return (await server.request(method, url, options)).status;
    }

    for (const [index, recorded] of requests.entries()) {
      const { method, url, contentType, status } = recorded;
      const deviation = deviations[deviationOf(recorded)];
      const reason = deviation === undefined ? '' : `, not ${status}: ${deviation.why}`;
      const expected = deviation?.status ?? status;
      it(`${index + 1}: ${method} ${url} ${contentType ?? ''} gets ${expected}${reason}`, async () => {
        expect(await answerTo(recorded)).to.equal(expected);
      });
    }
  });
}
