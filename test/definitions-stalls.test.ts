import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@homeostat/apiserver';
import { eventually, seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { EventLoopProbe } from './hostile/event-loop-probe.ts';
import { HostileProcess } from './hostile/hostile-process.ts';
import type { HostileAnswer } from './hostile/hostile-request.ts';
import { machineSlowness } from './hostile/machine-slowness.ts';
import { largeDefinition } from './support/definitions/large-definition.ts';
import {
  definitions,
  newWidget,
  widgetDefinition,
  widgetDefinitionPath,
  widgets,
} from './support/definitions/widget-definition.ts';
import { definitionOf, times, unfoldingDefaults, withProperties } from './support/definitions/widget-schemas.ts';
import type { Schema } from './support/definitions/widget-schemas.ts';

/** The maximum time for which a client's request may block the event loop. */
const maxStallMs = 50;

const text = { type: 'string' };

/**
 * A pattern that is slow to match: in a random text of a and b, each letter leads to a new set of states, so that the
 * matcher cannot reuse cached states.
 */
const endless = '^(a|b)*a(a|b){900}$';

/** Returns `count` pseudo-random letters a and b, which are the same in each run for the same seed. */
function letters(count: number, seed = 1): string {
  const random = seededRandom(seed);
  return times(count, () => (random() < 0.5 ? 'a' : 'b')).join('');
}

function matching(seed: number): string {
  return `${letters(10, seed)}a${letters(900, seed)}`;
}

function listOf(items: Schema): Schema {
  return { type: 'object', properties: { list: { type: 'array', items } } };
}

const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const values = times(90_000, (at) => `v${at}`);

/** Large and costly definitions. `spec` is the spec of the first object; a definition without `spec` is refused. */
const hostile: readonly (readonly [name: string, definition: object, spec?: Schema])[] = [
  ['1.2 MB and 10,505 schemas', largeDefinition(10_505, 72), { f0: { f0: { f5: 'text', f6: 1 } } }],
  ['55,000 schemas', largeDefinition(55_000, 0), { f0: { f0: { f5: 'text', f6: 1 } } }],
  [
    '4,900 properties',
    definitionOf(withProperties(4900, () => text)),
    Object.fromEntries(times(4900, (at) => [`p${at}`, 'x'])),
  ],
  ['9,900 properties', definitionOf(withProperties(9900, () => text))],
  ['an enum of 90,000 values', definitionOf(listOf({ ...text, enum: values })), { list: values }],
  [
    '300 patterns',
    definitionOf(withProperties(300, (at) => ({ ...text, pattern: `^[a-z]([-a-z0-9]{0,61}[a-z0-9])?-${at}$` }))),
    Object.fromEntries(times(300, (at) => [`p${at}`, `name-${at}`])),
  ],
  [
    '300 patterns that multiply',
    definitionOf(withProperties(300, (at) => ({ ...text, pattern: `((x{10}){10}){10}${at}` }))),
  ],
  [
    'a pattern of 4,000 states',
    definitionOf(withProperties(1, () => ({ ...text, pattern: '^([a-z]{1,40}-){1,24}(b[a-z]{1,40}-){1,22}$' }))),
    { p0: 'abc-babc-' },
  ],
  [
    'a pattern whose matching reaches a new set of states with each character',
    definitionOf(withProperties(1, () => ({ ...text, pattern: endless }))),
    { p0: letters(900) },
  ],
  [
    'the same pattern, and a text whose matching takes too long',
    definitionOf(withProperties(1, () => ({ ...text, pattern: endless }))),
    { p0: letters(200_000) },
  ],
  [
    'the same pattern for many texts',
    definitionOf(listOf({ ...text, pattern: endless })),
    { list: times(200, (at) => letters(900, at)) },
  ],
  [
    'the same pattern, and defaults that match it',
    definitionOf(withProperties(8, (at) => ({ ...text, pattern: endless, default: matching(at) }))),
    {},
  ],
  [
    '1,900 branches',
    definitionOf(listOf({ ...free, oneOf: times(1900, (at) => ({ required: [`a${at}`] })) })),
    { list: times(20_000, () => ({ a1: 1 })) },
  ],
  ['50,000 branches', definitionOf(listOf({ ...free, oneOf: times(50_000, () => ({ required: ['a'] })) }))],
  ['defaults that add many values', definitionOf(unfoldingDefaults(14))],
  [
    'defaults below list items',
    definitionOf(listOf(withProperties(60, () => ({ ...text, default: 'x'.repeat(20) })))),
    { list: times(100_000, () => ({})) },
  ],
  ['a violation everywhere', definitionOf(withProperties(4900, () => ({ uniqueItems: true })))],
];

describe('the event loop is not blocked [slow]', () => {
  let limitMs: number;

  before(() => {
    limitMs = maxStallMs * machineSlowness();
  });

  describe('while the server handles a definition with', () => {
    let server: HostileProcess;

    before(async () => {
      server = await HostileProcess.start();
    });

    after(() => server.stop());

    const send = (method: string, path: string, body?: object): Promise<HostileAnswer> =>
      server.send({
        method,
        path,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const isEstablished = async (): Promise<boolean> => (await send('GET', `${widgets}?limit=1`)).status === 200;

    /** Returns the longest stall in ms from the creation of a definition to the creation of its first object. */
    async function stallOf(definition: object, spec: Schema | undefined): Promise<number> {
      await server.call('takeLongestMs');
      const { status } = await send('POST', definitions, definition);
      expect(status).to.equal(spec === undefined ? 422 : 201);
      if (spec !== undefined) {
        await eventually(isEstablished);
        expect((await send('POST', widgets, { ...newWidget('a'), spec })).status).to.be.oneOf([201, 413, 422]);
      }
      const stallMs = await server.call('takeLongestMs');
      if (status === 201) await send('DELETE', widgetDefinitionPath);
      await eventually(async () => (await send('GET', widgetDefinitionPath)).status === 404);
      return stallMs;
    }

    for (const [name, definition, spec] of hostile) {
      it(name, async () => {
        let leastMs = Number.POSITIVE_INFINITY;
        // The test repeats the measurement, because a garbage collection may happen during the request.
        for (let attempt = 0; attempt < 3 && leastMs > limitMs; attempt += 1)
          leastMs = Math.min(leastMs, await stallOf(definition, spec));
        expect(leastMs).to.be.at.most(limitMs);
      });
    }
  });

  it('while the server starts with many definitions', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'definitions-'));
    const database = `sqlite:${join(folder, 'homeostat.db')}`;
    const count = 40;
    const first = await startApiServer({ database, port: 0 });
    for (let at = 0; at < count; at += 1) {
      const names = { plural: `things${at}`, kind: `Thing${at}` };
      const { metadata, ...definition } = {
        ...widgetDefinition({ names }),
        metadata: { name: `things${at}.shop.example.com` },
      };
      const { spec } = largeDefinition(2000, 60) as { spec: { versions: unknown } };
      const body = {
        ...definition,
        metadata,
        spec: { ...(definition as { spec: object }).spec, versions: spec.versions },
      };
      const headers = { 'content-type': 'application/json' };
      const { status } = await fetch(first.url + definitions, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(status).to.equal(201);
    }
    await eventually(() => first.isIdle());
    await first.stop();
    let leastMs = Number.POSITIVE_INFINITY;
    // The test repeats the measurement, because a garbage collection may happen during a start.
    for (let attempt = 0; attempt < 3 && leastMs > limitMs; attempt += 1) {
      const probe = new EventLoopProbe();
      const next = await startApiServer({ database, port: 0 });
      await eventually(() => next.isIdle());
      leastMs = Math.min(leastMs, probe.takeLongestMs());
      probe.stop();
      const last = await fetch(`${next.url}/apis/shop.example.com/v1/things${count - 1}`);
      await last.arrayBuffer();
      await next.stop();
      expect(last.status).to.equal(200);
    }
    await rm(folder, { recursive: true });
    expect(leastMs).to.be.at.most(limitMs);
  });
});
