import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { compileSchema } from '../schema/compile-schema.ts';
import { Pace } from '../turns/pace.ts';
import { compareFields } from './compare-fields.ts';
import { compareSteps, newFieldsSteps } from './compare-steps.ts';
import type { Fields } from './field-type.ts';
import { newFieldsOf } from './fields-of.ts';
import type { Steps } from '../turns/steps.ts';

const text: JsonSchema = { type: 'string' };
const keyed: JsonSchema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k'],
  items: { type: 'object', properties: { k: text, v: text } },
};
const spec: JsonSchema = {
  type: 'object',
  properties: {
    keyed,
    lists: { type: 'object', additionalProperties: keyed },
    set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    atomic: { type: 'array', items: text },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const { shape } = compileSchema({ schemaName: 'T', components: { T: { type: 'object', properties: { spec } } } });

const texts = fc.constantFrom('a', 'b');
const count = fc.constantFrom(0, 2, 700);

/** Generates lists of up to 700 items. Every n-th item, from the first on, has a value; the others have only a key. */
const keyedLists = fc
  .tuple(count, texts, fc.integer({ min: 1, max: 300 }))
  .map(([length, v, every]) =>
    Array.from({ length }, (_, index) => (index % every === 0 ? { k: `${index}`, v } : { k: `${index}` })),
  );
const manyTexts = fc.tuple(count, texts).map(([length, start]) => Array.from({ length }, (_, at) => `${start}${at}`));
const maps = fc
  .tuple(count, texts)
  .map(([length, v]) => Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, { v, w: { v } }])));
const specs = fc.record(
  {
    keyed: keyedLists,
    lists: fc.dictionary(texts, keyedLists),
    set: manyTexts,
    atomic: manyTexts,
    // A field of `free` may have one type before the change and another type after the change.
    free: fc.dictionary(texts, fc.oneof(maps, manyTexts, texts)),
  },
  { requiredKeys: [] },
);
const metadata = fc.record({ labels: fc.dictionary(texts, texts), finalizers: manyTexts }, { requiredKeys: [] });
const contents: fc.Arbitrary<Fields> = fc.record({ metadata, spec: specs });

function run<R>(steps: Steps<R>): { readonly result: R; readonly steps: number } {
  for (let done = 1; ; done += 1) {
    const step = steps.next();
    if (step.done === true) return { result: step.value, steps: done };
  }
}

describe('the comparison of large objects in steps', () => {
  it('finds the same fields as a comparison without steps [slow]', () => {
    fc.assert(
      fc.property(contents, contents, (before, after) => {
        const { changed, removed } = compareFields(before, after, shape);
        const { result } = run(compareSteps(before, after, shape, new Pace()));
        expect({ changed: result.changed, removed: result.removed }).to.deep.equal({ changed, removed });
        const created = run(newFieldsSteps(after, shape, new Pace()));
        expect(created.result).to.deep.equal(newFieldsOf(after, shape));
      }),
      { numRuns: 25 },
    );
  });

  it('takes at least 50 steps for 18,000 changed items [slow]', () => {
    const items = Array.from({ length: 9000 }, (_, index) => ({ k: `${index}`, v: 'a' }));
    const before = { spec: { keyed: items, lists: { a: items } } };
    const others = items.map(({ k }) => ({ k, v: 'b' }));
    const after = { spec: { keyed: others, lists: { a: others } } };
    expect(run(compareSteps(before, after, shape, new Pace())).steps).to.be.at.least(50);
    expect(run(newFieldsSteps(after, shape, new Pace())).steps).to.be.at.least(50);
  });
});
