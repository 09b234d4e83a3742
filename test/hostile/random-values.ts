// Random values for requests.
import fc from 'fast-check';
import { newThing } from './models.ts';

/** Texts of at most 30 visible ASCII characters, as in a request line. */
export const visible = fc.string({
  unit: fc.constantFrom(...Array.from('abz019-._~%/?&=+,:;@!$\'()*[]<>"\\^`{|}')),
  maxLength: 30,
});

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Texts that repeat a part, so that they are long or deeply nested. */
export const repeated = fc
  .tuple(
    fc.constantFrom('a', '[', '{"a":', '"a",', '[],', '{},', '- ', '&a ', '\\', '\u0000', '😀', 'a.', '(', '~1', '%'),
    fc.integer({ min: 1, max: 3000 }),
  )
  .map(([text, times]) => text.repeat(times));

/** The items of long lists. They are generated once, because new items would take most of the time. */
const items = fc.sample(fc.jsonValue({ maxDepth: 1 }), { seed: 20_300_101, numRuns: 500 });

export const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  repeated,
  fc.array(fc.constantFrom(...items), { minLength: 20, maxLength: 200 }),
);

const thingName = fc.integer({ min: 0, max: 20 }).map((number) => `random-${number}`);

export const almostThing = fc
  .tuple(
    thingName,
    fc.record(
      { name: json, weight: json, tags: json, list: json, set: json, keyed: json, map: json, any: json, other: json },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        labels: json,
        annotations: json,
        finalizers: fc.constantFrom<unknown>([], null, 'x', {}),
        ownerReferences: json,
        managedFields: json,
        generateName: json,
        uid: json,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([name, spec, metadata]) => ({ name, text: JSON.stringify(newThing(name, spec, metadata)) }));
